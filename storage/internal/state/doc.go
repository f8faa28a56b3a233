// Package state has the state database on disk: state.db, into which kv checkpoints, the checksums of its pages, and
// the redo file. Package storage wires a DB to the log, whose durable slots bound the checkpoints, and to the file
// system's space. DESIGN.md of package storage has the layouts, and why they survive a crash.
//
//	DB          open, compare with the log, close     state.go, file.go, layout.go
//	View        read one checkpoint                   view.go
//	Checkpoint  in parts, each a transaction          checkpoint.go, merge.go, part.go, rewrite.go, redo.go
//	room        waits for space for a part            room.go
//	Digest      of all records                        digest.go, recount.go
//	Content     a whole reading of state.db           verify.go
//	Snapshot    the state database as a stream        snapshot.go, format.go, stream.go
//	Receiver    a state database from such a stream   receive.go, install.go
//	free pages  back to the file system               giveback.go
//	Scrub       all pages against their checksums     scrub.go
//
// Checkpoint holds the lock mu, which is taken last. Views read beside it, and the package starts no goroutine but one
// that waits in Close.
package state
