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

# stopped ends the cluster that runs.
stopped() {
  [ -z "${cluster_pids-}" ] || kill $cluster_pids 2>/dev/null || true # some may have ended
  # shellcheck disable=SC2086 # one word a process
  [ -z "${cluster_pids-}" ] || wait $cluster_pids || true
  cluster_pids=
  rm -rf kvnode-dev "$HOME"/node*
}

# nodes [FLAG…] runs three nodes with these flags, on the ports of `kvnode dev`, in place of the cluster before, and
# waits until they are ready.
nodes() {
  stopped
  local n
  for n in 1 2 3; do
    KVNODE_CLUSTER=1=127.0.0.1:8300,2=127.0.0.1:8301,3=127.0.0.1:8302 command kvnode --id "$n" --data "$HOME/node$n" \
      --client "127.0.0.1:$((8499 + n))" "$@" >|"$HOME/node$n.log" 2>&1 &
    cluster_pids+=" $!"
  done
  ready 127.0.0.1:8500 127.0.0.1:8501 127.0.0.1:8502 || { cat "$HOME"/node*.log; return 1; }
}

# cluster [FLAG…] runs a fresh `kvnode dev` in place of the cluster before, and waits until its three nodes are ready.
cluster() {
  stopped
  command kvnode dev "$@" >|"$HOME/dev.log" 2>&1 &
  cluster_pids=$!
  ready 127.0.0.1:8500 127.0.0.1:8501 127.0.0.1:8502 || { cat "$HOME/dev.log"; return 1; }
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
