// Package runner runs the pure parts of package replica on a machine. It has the goroutines of a node and reads the
// clock. It hands the drivers' effects to the disk, to the peers and to waiting handlers. It makes no decision of the
// protocols: replica's drivers return each next step. DESIGN.md argues for this choice of threads.
//
// # Runners
//
//	Elector   the election of the master; one goroutine with a thread of its own
//	Log       the log, and the state that it is applied to; with a persister and a checkpointer
//	Leases    named leases; with a writer of buckets
//	Disk      measures the disk, scrubs state.db, and gives back its free pages
//	Snapshots a sender and a receiver of the state, for members that are too far behind
//	Lifecycle starts the loops of these, and ends them
//
// A round of the log, or of named leases, runs on any goroutine that brings an event while no round is under way: see
// inbox. Peers brings the messages of peers to the runners, Handover gives the mastership up.
//
// # What runners share
//
// Three small values, each safe for concurrent use: Mastership joins the elector, the log and the readers; Health says
// how able this node and its peers are; State is the applied state behind its lock.
package runner
