# Makes the account of kvnode. Both kinds of packages begin their script for an installation with this.
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers kvnode.conf
elif ! getent passwd kvnode >/dev/null; then
  useradd --system --user-group --no-create-home --home-dir /var/lib/kvnode --shell /usr/sbin/nologin kvnode
fi
