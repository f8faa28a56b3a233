// Package runner runs the parts of a node on a machine: the elector, the log part and the part for named leases. It
// reads the clock, and carries out the effects of their drivers: on the disk, at the peers, for waiting handlers. The
// drivers decide each next step. DESIGN.md argues for this choice of threads.
//
// # Where things are
//
//	Elector        the election of the master; one goroutine with a thread of its own    elector*.go
//	Log            the log and its state; with a persister and a checkpointer            log*.go, persister.go,
//	                                                                                     checkpointer.go
//	Leases         named leases; with a writer of buckets                                leases*.go
//	inbox          the events of Log, and those of Leases                                inbox.go
//	Disk           measures the disk, scrubs state.db, and gives back its free pages     disk*.go
//	Snapshots      sends and receives the state, for members that are too far behind     snapshots.go, snapshotsend.go
//	Clocks         compares this node's clock with those of its peers                    clocks.go
//	MemberChanges  puts a membership in force                                            memberchanges.go
//	Handover       gives mastership up                                                   handover.go
//	Drain          keeps mastership away before maintenance                              drain.go
//	Peers          brings the messages of peers to the others                            peers.go
//	Lifecycle      starts the loops of these, and ends them                              lifecycle.go
//
// A round of the log, or of named leases, runs on any goroutine that brings an event while no round is under way: see
// inbox.
//
// # What they share
//
// Four small values, each safe for concurrent use: Mastership (mastership.go) joins the elector, the log and the
// readers; Health (health.go) says how able this node and its peers are; Members (members.go) is the membership in
// force; State (state.go) is the applied state behind its lock.
package runner
