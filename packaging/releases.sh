# shellcheck shell=bash
# releases DIR makes two releases of what is committed, of which DIR/one is the upgrade of DIR/before, unless they are
# there already. This file is sourced.
releases() {
  export ARCHES=amd64 KINDS="deb rpm tar"
  [ "$(cat "$1/commit" 2>/dev/null)" != "$(git rev-parse HEAD)" ] || return 0
  packaging/build 0.9.1 "$1/one" >/dev/null
  packaging/build 0.9.0 "$1/before" >/dev/null
  git rev-parse HEAD >"$1/commit"
}
