# The functions that comments of the pages may use. It is read by the shell that runs a page.

# ready ADDRESS… waits until the nodes that serve clients there say that they are ready.
ready() {
  local address n
  for address; do
    for ((n = 0; ; n++)); do
      if curl -sf -o /dev/null "$address/health/ready"; then break; fi
      if [ "$n" = 300 ]; then echo "$address is not ready"; return 1; fi
      sleep 0.1
    done
  done
}

# eventually COMMAND… runs the command until it ends with exit code 0.
eventually() {
  local n out
  for ((n = 0; n < 300; n++)); do
    if out=$("$@" 2>&1); then return; fi
    sleep 0.1
  done
  echo "$out"
  return 1
}

# cluster [FLAG…] runs a fresh `kvnode dev` in place of the cluster before, and waits until its three nodes are ready.
cluster() {
  if [ -n "${cluster_pid-}" ]; then
    kill "$cluster_pid" 2>/dev/null || true # it may have been stopped
    wait "$cluster_pid" || true
  fi
  rm -rf kvnode-dev
  command kvnode dev "$@" >|"$HOME/dev.log" 2>&1 &
  cluster_pid=$!
  ready 127.0.0.1:8500 127.0.0.1:8501 127.0.0.1:8502
}

# elected N runs fresh clusters until node N is the first master of one.
elected() {
  local n
  for ((n = 0; n < 30; n++)); do
    cluster
    if [ "$(kvctl status --json | jq .master)" = "$1" ]; then return; fi
  done
  echo "node $1 never became the master"
  return 1
}

# closed ends the command that was started last in a terminal of its own.
closed() {
  local children
  children=$(pgrep -P $!)
  kill $! $children # the shell first, so that it does not tell of the command's exit code
}
