// Package storage keeps what a node remembers: its identity, the log of its acceptor, and the checkpointed state. Only
// it and packages below it import bbolt. It decides nothing: multipaxos and server/replica decide what must be durable
// before a message leaves, and hand it whole records.
//
// Snapshot and Receiver carry the state database from one node to another; the next Open installs what was received.
//
// Two bbolt files and a journal lie in the data directory, beside the file LOCK. log.db holds the identity, the start
// record, the promised ballot, the marks and the log's entries. A Commit is one synced record of the journal. Records
// move to log.db in the background, many commits in a transaction, and are read from memory until then. The state
// database, into which kv checkpoints, is state.db. A large checkpoint is made in parts: its changes are in the file
// redo before the first part, and Open completes an interrupted one. DESIGN.md has the layouts as tables, and why they
// survive a crash.
//
// A Store consists of parts that own their files and what they know of them; none knows the Store:
//
//	disk.Failure the first failure, which ends all of them         internal/disk/failure.go
//	space        usage, the reserve file, what of it is promised   internal/space
//	acceptor.Log the journal, what is pending in it, log.db        internal/acceptor
//	nodeRecords  identity and start record, through acceptor.Log   identity.go, membership.go, copied.go
//	stateDB      state.db: views of it and writes into it          state.go, stateview.go, checkpoint*.go
//	redo         the redo file                                     redo.go
//	Snapshot     the state database as a stream                    snapshot*.go
//	Receiver     a state database from such a stream               receive.go
//	pages.File   the pages of state.db and their checksums         pages, scrub.go, giveback.go
//
// ReadIdentity (peek.go), SetAside (aside.go), Examine (examine*.go, salvage.go) and Options.Offline are for
// directories of nodes that do not run.
//
// How bbolt is called is in internal/disk/bolt.go, what the directory and its names need in dir.go. The errors that say
// how to mend a file are those of internal/disk. The records of all files are those of internal/sealed.
//
// Which rule lives where:
//
//	a reply never leaves before its state is on disk   Commit returns only after the record's fdatasync
//	                                                   (journal/ring.go)
//	a record is overwritten only when log.db has it    place (journal/ring.go), moveHome (internal/acceptor)
//	an incomplete write is told from damage            unmoved (journal/scan.go)
//	what was not synced is not built upon              pages.Settle, Open (journal/ring.go)
//	a checkpoint is in state.db whole or not at all    redo.write, resumeCheckpoint (redo.go),
//	                                                   progress (checkpointmerge.go)
//	a snapshot is installed whole or not at all        Receiver.Finish, installReceived (install.go)
//	promised and chosen never go backwards             advance (internal/acceptor), by panic
//	A4: the start record never shortens a quarantine   Start; LowerQuarantine is A4's second write
//	N4: the bucket of named leases is durable          Start, SetBucket
//	a directory belongs to one node id                 SetNode
//	bootstrap once, and only with the own store id     Found
//	a membership never gives way to an older one       SetMembership, Join (membership.go)
//	never retry an fsync                               Failure.Fail (internal/disk): the first error is returned
//	                                                   for ever
//	damage is noticed and never served                 internal/sealed (checksums, digest), disk.Guard, pages,
//	                                                   slotSums (internal/acceptor), verify.go, scrub.go,
//	                                                   journal/sector.go
//	a copied disk is refused as far as can be seen     copied.go
//	the reserve heals by itself                        Usage.classify (internal/space)
//
// Concurrency: Commit and Checkpoint are called by one goroutine each and may run at the same time, since they write
// different files; a Receiver is a third one's, beside both. Entries, View, Snapshot, Loaded, Durable, Identity, Usage,
// Stats, Refresh, Verify and Scrub may be called by any. Calls that write the identity or the start record take turns
// with the moves to log.db, and last as long as one or several fsyncs: the lease's goroutine must not wait for them.
//
// The package starts two goroutines: one moves the journal to log.db, one zero-fills log.db ahead of the log. They end
// with Close. An error in one of them ends the store: the next call of anything returns it.
package storage
