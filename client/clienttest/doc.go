// Package clienttest is a cluster in memory for tests of programs that use package client. Any number of nodes share
// one store, and a test injects faults.
//
// Requests are answered by the HTTP API of real nodes (package server/web) over their state machine (package kv). So
// conditions, locks, transactions, fences, waiting, streams of changes, idempotency keys, tokens and policies mean what
// they mean on real nodes. Named leases, the status of nodes and the list of members are pretended. There is no
// election and no disk. A session, a key or a lease ends at the very moment that its TTL is over. How a node behaves
// under load is not shown.
//
//	cluster.go  the cluster and its nodes, and the changes that a test can make to them
//	store.go    the state, its times, and the changes that a test can make to it
//	handler.go  requests and their faults
//	node.go     a node as package server/web sees it
//	leases.go   named leases
//	members.go  members
package clienttest
