// Package clienttest is a pretended cluster for tests of programs that use package client: the HTTP API over one
// store in memory, with as many nodes as wanted in front of it, and with faults put in on purpose.
//
// It keeps what clients depend on: indexes, conditions, locks, transactions, waiting, streams of changes, idempotency
// keys with bases, named leases with their tokens, which answer means what. It has no election and no disk, ends a
// session or a lease at the very moment that its TTL is over, and is no measure of what a real node does under stress.
package clienttest
