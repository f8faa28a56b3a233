// Package clienttest is a cluster in memory for tests of programs that use package client: the HTTP API over one store,
// with any number of nodes in front of it and with faults that a test injects.
//
// It has what clients depend on: indexes, conditions, locks, transactions, fences, waiting, streams of changes,
// idempotency keys with bases, named leases with their tokens, and the meaning of each answer. It has no election and
// no disk, ends a session or a lease at the very moment that its TTL is over, and does not show how a node behaves
// under load.
//
//	cluster.go   the cluster, and the changes that a test can make to it
//	handler.go   requests, faults and answers
//	strict.go    requests that nodes refuse
//	requests.go  writes, sessions
//	waiting.go   waiting and streams
//	store.go     the store below them
//	acl.go       tokens and policies; a test decides in place of their rules
//	leases.go    leases
//	fences.go    fences
//	members.go   members
package clienttest
