#!/usr/bin/env bash
# Runs systemd on a scratch system, as the first process of new namespaces of processes, mounts and control groups:
# boot.sh ROOT. The network is that of its caller. Nothing of the machine outside can be written: no kernel settings, and
# of the control groups only its own.
set -euo pipefail
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for dir in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$dir"; done
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root"/dev/{shm,pts} "$root/run/old"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
# The data of the node are on a file system of their own, as operators have it.
mkdir -p "$root/var/lib/kvnode"
mount -t tmpfs -o size=1g tmpfs "$root/var/lib/kvnode"
mkdir "$root/var/lib/kvnode/lost+found"
cd "$root"
pivot_root . run/old
umount -l /run/old
exec env -i container=scratch PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=no
