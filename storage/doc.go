// Package storage is what a node remembers: its identity, its acceptor's log and the folded image of the state. It is
// the only importer of bbolt, and it decides nothing: what must be durable before what is said is decided by
// multipaxos and server/replica, which hand it whole records.
//
// Two bbolt files lie in the data directory, beside the file LOCK. log.db holds the identity, the start record, the
// promised ballot, the marks and the log's entries; every Commit is one synced transaction of it. state.db holds the
// image that kv folds into; it is synced once a Fold. DESIGN.md has both layouts as tables, and why they survive a
// crash.
//
// Which rule lives where:
//
//	a reply never leaves before its state is on disk   Commit returns only after the second fdatasync
//	promised and chosen never go backwards             advance (log.go), by panic
//	A4: the start record never shortens a quarantine   Start; LowerQuarantine is A4's second write
//	a directory belongs to one node id                 SetNode
//	genesis once, and only with the own store id       Found
//	never retry an fsync                               fail: the first error inside a transaction is returned for ever
//	damage is noticed and never served                 record.go (checksums, digest), pages.go, verify.go, guard.go
//	a copied disk is refused as far as can be seen     host.go
//	the reserve heals by itself                        usage.go
//
// Concurrency: Commit and Fold are called by one goroutine each and may run at the same time, since they write
// different files; Entries, View, Loaded, Durable, Identity, Usage, Refresh and Verify may be called by any. What
// writes the identity or the start record takes its turn with Commit and lasts as long as an fsync: the lease's
// goroutine must not wait for it.
//
// A goroutine of the package's own only zero-fills log.db ahead of the log; it ends with Close.
package storage
