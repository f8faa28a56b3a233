// Package acceptor has the log of an acceptor on disk: the journal, in which a Commit is one synced record, and log.db,
// to which a background goroutine moves the oldest records when the journal needs their place. Package storage wires a
// Log to the state database and to the file system's space, and keeps the records of the node in log.db (NodeRecord):
// the Log does not know what they say. DESIGN.md of package storage has the layouts, and why they survive a crash.
//
//	Log       open, write, close; its marks       log.go, layout.go
//	Commit    into the journal, or past it        commit.go, journal.go, syncer_*.go
//	pending   what log.db does not have yet       pending.go
//	flusher   from the journal to log.db, and     flush.go
//	          how far the journal is
//	grower    zeros ahead of the log              grow.go, create.go
//	Entries   read while the log is open          read.go, sums.go
//	Content   a whole reading of log.db           content.go, entry.go
//
// A Log takes two locks, commitMu before mu. RunFlusher and RunGrower are goroutines of the caller.
package acceptor
