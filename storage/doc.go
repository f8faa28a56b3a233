// Package storage keeps what a node remembers: its identity, the log of its acceptor, and the checkpointed state. Only
// it and packages below it import bbolt. It decides nothing: multipaxos and server/replica decide what must be durable
// before a message leaves, and hand it whole records.
//
// Snapshot and Receiver carry the state database from one node to another; the next Open installs what was received.
//
// Two bbolt files and a journal lie in the data directory, beside the file LOCK. log.db holds the identity, the start
// record, the promised ballot, the marks, and those of the log's entries for which the journal has no place. A Commit
// is one synced record of the journal, and mostly its entries are never anywhere else: they are truncated after a
// checkpoint. The state database, into which kv checkpoints, is state.db. A large checkpoint is made in parts: its
// changes are in the file redo before the first part, and Open completes an interrupted one. DESIGN.md has the layouts
// as tables, and why they survive a crash.
//
// A Store consists of parts that own their files and what they know of them. It wires them: none knows the Store, nor
// the log and the state database each other.
//
//	internal/acceptor  Log: the journal, what is pending in it, log.db
//	internal/state     DB: state.db, its checksums, the redo file; Snapshot and Receiver
//	internal/space     Account: usage, the reserve file, what of it is promised
//	internal/pages     the pages of bbolt's files and their checksums
//	internal/sealed    the records of all files: checksum, digest
//	internal/disk      the first failure, which ends all parts; how bbolt is called; paths; errors that say how to mend
//	                   a file
//	journal            the ring in which a commit becomes durable
//	etcdsnap           the keys in an etcd snapshot
//	internal/disktest  what tests of these packages share
//
// This package has
//
//	the Store: open, create, close                 store.go, open.go, create.go, options.go, errors.go, dir.go
//	the calls that it hands to a part              log.go, state.go, snapshot.go, usage.go, stats.go
//	Node: identity and start record                identity.go, membership.go, copied.go
//	directories of nodes that do not run           peek.go, aside.go, differs.go, examine*.go, salvage.go
//
// Which rule lives where:
//
//	a reply never leaves before its state is on disk   Log.Commit returns only after the record's fdatasync
//	                                                   (Ring.Append in journal)
//	a record is overwritten only when log.db has what  place in journal, Log.move (internal/acceptor)
//	is left of it
//	an incomplete write is told from damage            unmoved in journal
//	what was not synced is not built upon              pages.Settle, journal.Open
//	a checkpoint is in state.db whole or not at all    redo.write, DB.resumeCheckpoint, Marks.progress (internal/state)
//	a snapshot is installed whole or not at all        Receiver.Finish, DB.Install
//	promised and chosen never go backwards             advance (internal/acceptor), by panic
//	A4: the start record never shortens a quarantine   Start; LowerQuarantine is A4's second write
//	N4: the bucket of named leases is durable          Start, SetBucket
//	a directory belongs to one node id                 SetNode
//	bootstrap once, and only with the own store id     Found
//	a membership never gives way to an older one       SetMembership, Join
//	never retry an fsync                               disk.Failure: the first error is returned for ever
//	damage is noticed and never served                 sealed.Seed, sealed.Digest, disk.Guard, pages, slotSums and
//	                                                   ReadContent (internal/acceptor), ReadContent and Scrub
//	                                                   (internal/state), sectors in journal
//	a copied disk is refused as far as can be seen     refuseCopy
//	the reserve heals by itself                        Usage.classify (internal/space)
//
// Concurrency: Commit and Checkpoint are called by one goroutine each and may run at the same time, since they write
// different files; a Receiver is a third one's, beside both. Entries, View, Snapshot, Loaded, Durable, Identity, Usage,
// Stats, Refresh, Verify and Scrub may be called by any. Calls that write the identity or the start record take turns
// with the moves to log.db, and last as long as one or several fsyncs: the lease's goroutine must not wait for them.
//
// The package starts two goroutines: one moves records to log.db and notes there how far the journal is, one zero-fills
// log.db ahead of the log. They end
// with Close. An error in one of them ends the store: the next call of anything returns it.
package storage
