// Package dev is the supervisor of `kvnode dev`: a whole cluster on this machine, as child processes.
//
//	dev.go      Options, Run and the order of their steps
//	plan.go     which node gets which ports and arguments
//	state.go    dev.json, which `kvctl dev` changes too (package devcluster), and the lock that allows one supervisor
//	cluster.go  the loop that watches the nodes; it restarts none by itself
//	child.go, child_linux.go, child_other.go
//	            one node's process
//	poll.go     the nodes' state, over HTTP
//	stop.go     the end: all nodes end with the supervisor, also those started by kvctl
//	tell.go     the lines that people read
//
// One goroutine, locked to its thread, owns all state and starts all children, since on Linux a child is told of
// the death of the thread that started it. The others only wait for an exit or an answer and send it over.
package dev
