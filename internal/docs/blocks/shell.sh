# shellcheck shell=bash disable=SC2086,SC2120,SC2119 # lists of processes are words; pages give the arguments
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

terminals=() # the shells of commands that go on

# stopped ends the cluster that runs, and what runs in the terminals.
stopped() {
  closed
  [ -z "${cluster_pids-}" ] || kill $cluster_pids 2>/dev/null || true # some may have ended
  [ -z "${cluster_pids-}" ] || wait $cluster_pids || true
  cluster_pids='' node_pids=()
  unset KVCTL_ENDPOINTS
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

# machines [FLAG…] runs three nodes on 10.0.0.1 to 10.0.0.3 in place of the cluster before, and has kvctl ask them. Their
# data is in ~/node1 to ~/node3.
machines() {
  stopped
  local n
  for n in 1 2 3; do machine "$n" "$@"; done
  export KVCTL_ENDPOINTS=10.0.0.1,10.0.0.2,10.0.0.3
  ready 10.0.0.1:8500 10.0.0.2:8500 10.0.0.3:8500 || { cat "$HOME"/node*.log; return 1; }
}

# machine N [FLAG…] starts node N of `machines`.
machine() {
  local n=$1
  shift
  command kvnode --id "$n" --cluster 1=10.0.0.1:8300,2=10.0.0.2:8300,3=10.0.0.3:8300 --data "$HOME/node$n" \
    --client "10.0.0.$n:8500" --insecure "$@" >>"$HOME/node$n.log" 2>&1 &
  node_pids[n]=$!
  cluster_pids+=" $!"
}

# joined N [FLAG…] has a node join the cluster from 10.0.0.N, and waits until it is ready.
joined() {
  local n=$1
  shift
  command kvnode --join 10.0.0.1:8300 --peer "10.0.0.$n:8300" --client "10.0.0.$n:8500" --insecure --data "$HOME/node$n" \
    "$@" >>"$HOME/node$n.log" 2>&1 &
  node_pids[n]=$!
  cluster_pids+=" $!"
  ready "10.0.0.$n:8500"
}

# off N ends the node on 10.0.0.N.
off() {
  kill "${node_pids[$1]}"
  wait "${node_pids[$1]}" || true
}

# listed PATTERN waits until a line of `kvctl member list` has the pattern.
listed() { eventually eval "kvctl member list | grep -E '$1'"; }

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

# closed ends what runs in the terminals.
closed() {
  local terminal child children
  for terminal in "${terminals[@]}"; do
    children=$(pgrep -P "$terminal") || continue
    kill "$terminal" $children # the shell first, so that it does not tell of the command's exit code
    for child in $children; do eventually eval "! kill -0 $child"; done
  done
  terminals=()
}
