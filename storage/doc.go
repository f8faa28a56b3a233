// Package storage is what a node remembers: its identity, its acceptor's log and the checkpointed state database of the
// state. It is the only importer of bbolt, and it decides nothing: what must be durable before what is said is decided
// by multipaxos and server/replica, which hand it whole records.
//
// Two bbolt files and a journal lie in the data directory, beside the file LOCK. log.db holds the identity, the start
// record, the promised ballot, the marks and the log's entries. A Commit is one synced record of the journal; what the
// journal holds moves to log.db in the background, many commits in a transaction, and is read from memory until then.
// state.db holds the state database that kv checkpoints into, in parts if the checkpoint is large: its changes are in
// the file redo before the first one, and Open makes the rest of one that is half done. DESIGN.md has the layouts as
// tables, and why they survive a crash.
//
// A Store consists of parts that own their files and what they know of them; none knows the Store:
//
//	fate         the first failure, which ends all of them         fate.go
//	space        usage, the reserve file, what of it is promised   usage.go, reserve.go
//	acceptorLog  the journal, what is pending in it, log.db        log.go, journal.go, log*.go
//	nodeRecords  identity and start record, through acceptorLog    identity.go, host.go
//	stateDB      state.db: views of it and writes into it          state.go, stateview.go, checkpoint*.go
//	redo         the redo file                                     redo.go
//	checkedFile  the pages of state.db and their checksums         page*.go, scrub.go, verify.go
//
// Which rule lives where:
//
//	a reply never leaves before its state is on disk   Commit returns only after the record's fdatasync (journal/ring.go)
//	a record is overwritten only when log.db has it    place (journal/ring.go), moveHome (logflush.go)
//	a write that was cut off is told from damage       judge (journal/scan.go)
//	what was not synced is not built upon              settle (open.go), Open (journal/ring.go)
//	a checkpoint is in the state database whole or not at all         redo.write, resumeCheckpoint (redo.go), progress (checkpointmerge.go)
//	promised and chosen never go backwards             advance (logcommit.go), by panic
//	A4: the start record never shortens a quarantine   Start; LowerQuarantine is A4's second write
//	N4: the bucket of named leases is durable          Start, SetBucket
//	a directory belongs to one node id                 SetNode
//	bootstrap once, and only with the own store id       Found
//	never retry an fsync                               fail (fate.go): the first error inside a transaction is returned for ever
//	damage is noticed and never served                 record.go (checksums, digest), pagewalk.go, verify.go, guard.go,
//	                                                   pagesums.go, pagecursor.go, pagewrites.go, scrub.go, journal/sector.go
//	a copied disk is refused as far as can be seen     host.go
//	the reserve heals by itself                        usage.go
//
// Concurrency: Commit and Checkpoint are called by one goroutine each and may run at the same time, since they write
// different files; Entries, View, Loaded, Durable, Identity, Usage, Stats, Refresh, Verify and Scrub may be called by
// any. What writes the identity or the start record takes its turn with the moves to log.db and lasts as long as an
// fsync or several: the lease's goroutine must not wait for it.
//
// Two goroutines are the package's own: one moves the journal to log.db, one zero-fills log.db ahead of the log. They
// end with Close. An error in one of them ends the store: the next call of anything returns it.
package storage
