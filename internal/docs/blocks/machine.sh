# shellcheck shell=bash
# Makes the machine of one page, and becomes its shell. It runs as root of new namespaces of networks, mounts, names and
# processes, which vanish with the shell.
#
#   machine.sh ROOT TREE WORK     TREE is what the page sees at ROOT; WORK is an empty directory
set -e
root=$1 tree=$2 work=$3

hostname vm
ip link set lo up
ip address add 10.0.0.1/24 dev lo # each 10.0.0.N is this machine, so a page may have as many machines as it likes

# A root directory of its own, so that a page may make /backups.
mkdir -p "$work/root" "$work/home" "$work/etc"
for entry in /*; do
  if [ -L "$entry" ]; then
    cp -P "$entry" "$work/root/"
  elif [ -d "$entry" ]; then
    mkdir "$work/root$entry"
    [ "$entry" = /lost+found ] || mount --rbind "$entry" "$work/root$entry"
  fi
done
cp -a /etc/. "$work/etc/" 2>/dev/null || true # what only the real root may read is left out
mount --bind "$work/etc" "$work/root/etc"
for empty in /var/lib /var/log /mnt /srv; do
  [ ! -d "$empty" ] || mount -t tmpfs none "$work/root$empty"
done
mount --bind "$tree" "$work/root$root"
{
  echo 127.0.0.1 localhost vm
  for n in {1..9}; do echo "10.0.0.$n node$n.example n$n.example.com"; done
} >"$work/etc/hosts"

export HOME=$work/home PATH=$root/bin:$PATH
cd /
# shellcheck disable=SC2016 # the inner shell expands them
exec chroot "$work/root" /bin/bash --noprofile --norc -c 'cd "$1" && . "$2" && exec 9<&0 </dev/null &&
  while read -r -u 9 line; do eval "$line"; done' bash "$root" "$root/internal/docs/blocks/shell.sh"
