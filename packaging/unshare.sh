#!/usr/bin/env bash
# Runs what a configuration of runc says, where runc itself is forbidden: unshare.sh CONFIG, as the first process of new
# namespaces of processes and mounts, in the network namespace of the container. It takes the command, the files and the
# user from it, and no limits.
set -euo pipefail
config=$1
get() { jq -r "$1" "$config"; }
root=$(get .root.path)
# A root that can be written to, for the places to mount on; it is made read-only when they are there.
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
mkdir -p /mnt/root/{proc,dev}
while IFS=$'\t' read -r source target mode; do
  if [ -d "$source" ]; then
    mkdir -p "/mnt/root$target"
  else
    mkdir -p "$(dirname "/mnt/root$target")"
    : >"/mnt/root$target"
  fi
  mount --bind "$source" "/mnt/root$target"
  [ "$mode" = rw ] || mount -o remount,bind,ro "/mnt/root$target"
done < <(get '.mounts[] | select(.type == "bind") | [.source, .destination, .options[-1]] | @tsv')
mount -t proc proc /mnt/root/proc
: >/mnt/root/dev/null
mount --bind /dev/null /mnt/root/dev/null
mount -o remount,ro /mnt/root
mapfile -t environment < <(get '.process.env[]')
mapfile -t command < <(get '.process.args[]')
user=$(get '.process.user | "\(.uid):\(.gid)"')
groups=$(get '.process.user.additionalGids | join(",")')
exec setpriv --no-new-privs env -i "${environment[@]}" \
  /usr/sbin/chroot --userspec="$user" --groups="$groups" /mnt/root "${command[@]}"
