# shellcheck shell=bash disable=SC2034,SC2154 # the scripts use and set these variables
# Functions that the scripts of this directory share. They source this file, and run at the top of the tree.

# The tools that are built from source, each at a fixed version.
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.8.0
gotestsum=gotest.tools/gotestsum@v1.13.0
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
cyclonedx=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

say() { printf '%s\n' "$*"; }

# debian PACKAGE… installs packages of Debian. Only root does so; anybody else is told which are missing.
debian() {
  if [ $# -eq 0 ]; then say "nothing is missing"; return; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "missing: $*; only root on Debian installs them here, so tests that need them skip or fail"
    return
  fi
  say "installing $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# missing PROGRAM:PACKAGE… prints the packages whose programs are missing.
missing() {
  local pair
  for pair; do
    command -v "${pair%%:*}" >/dev/null || say "${pair#*:}"
  done
}

# step NAME runs the function of that name, says how long it took and leaves its exit code in `code`. It does not return
# that code: bash ignores set -e inside a function that stands before || or after if, and then a command that fails in
# the middle of a step goes unnoticed.
step() {
  local began=$SECONDS
  say "=== $1"
  set +e
  (set -e; "$1")
  code=$?
  set -e
  say "--- $1: $((SECONDS - began)) s$([ $code = 0 ] || echo ", FAILED")"
}

# known NAME… ends the script unless every NAME is one of the steps in the array `all`.
known() {
  local name
  for name; do
    [[ " ${all[*]} " == *" $name "* ]] || { say "no step $name; there are: ${all[*]}"; exit 2; }
  done
}

# concurrent prints the packages with goroutines: only there can the race detector find anything.
concurrent() {
  local pure='kv|lease|multipaxos|server/(replica|wire)|jepsen/(check|compare|explore|script|sim|mutants|sweep|chart)'
  pure+='|internal/(arrows|docs|codec|frames)|cmd/kvctl/internal/records'
  go list ./... | grep -vE "^tenure/($pure)(/|$)"
}
