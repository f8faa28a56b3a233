// Package dev is the supervisor of `kvnode dev`: a whole cluster on this machine, as child processes.
//
//   - dev.go: Options, Run and the order of things. plan.go: which node gets which ports and arguments.
//   - state.go: dev.json, which `kvctl dev` reads and changes too (package devcluster), and that there is one
//     supervisor.
//   - cluster.go: the loop that watches the nodes. It restarts nothing by itself.
//   - child.go, child_linux.go, child_other.go: one node's process. poll.go: what the nodes say over HTTP.
//   - stop.go: all nodes end with the supervisor, also those that kvctl started. tell.go: what people read.
//
// One goroutine, locked to its thread, owns all state and starts all children, since on Linux a child is told of
// the death of the thread that started it. The others only wait for an exit or an answer and send it over.
package dev
