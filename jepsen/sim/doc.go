// Package sim runs whole clusters of the real server/replica on a simulated network, disk and clock. It is
// single-threaded, and one seed is one run: the same events, the same trace hash, on every machine.
//
// The simulator is the shell of package server with everything that blocks replaced by events in virtual time. It runs
// the drivers of package replica, as the shell does, and may let time pass, or the process be paused, between any two
// of their effects, and between the two halves of a read.
//
// # Swarms
//
// A seed draws its cluster (1, 3 or 5 nodes), sizes, rates and a subset of the faults (plan.go): a run without pauses
// goes deeper into what crashes can do than one with everything. Each class of faults draws from a stream of its own,
// so that a class that is switched off leaves the others much as they were; shrink.go relies on that.
//
// Outside the promise. Clocks that stop or jump (Freeze) are outside what a lease promises. In such runs only what
// holds without clocks is checked: writes and consistent reads, one value per slot, durability, unique epochs.
//
// # Where things are
//
//	the loop, and one step                run.go, event.go
//	the shell's loops                     logloop.go, leaseloop.go, handover.go
//	a node's life, its clock, its disk    node.go, clock.go, disk.go, journal.go
//	connections, partitions               network.go
//	messages as frames, damaged frames    frames.go, damage.go
//	faults, and their end                 plan.go, nemesis.go, fault.go
//	crash release                         guardian.go
//	words of health, letting go (M6)      health.go
//	stuck disks, lost large messages      stuck.go
//	named leases: a node's part, clients  named.go, leaser.go; what must hold of them: leaseoracle.go
//	clients, and what they were told      client.go, attempt.go; locker.go: sessions, locks, times, transactions
//	checks after every step               owners.go, ledger.go, oracle.go, wire.go
//	the check of progress in every phase  progress.go
//	checks at the end                     verdict.go
//	searching and shrinking               search.go, shrink.go
//
// # The network
//
// Nodes send each other the bytes that package server/wire makes, and take what it makes of the bytes that come: frames
// are lost, late, repeated, cut off and garbled. The log has a connection between each two nodes, which keeps the order
// of its frames and ends with one that is damaged; other frames travel alone, which is worse than what TCP does to
// them.
//
// # The disk
//
// Commits go through storage's own journal into a file of which a crash keeps any of the sectors that were not synced;
// what comes back is compared with what was acknowledged. log.db and state.db are modelled by their records: a
// transaction happens whole or not at all, and a crash flips a coin over one that is under way. Half of the checkpoints
// have some of their changes in the state database from their beginning on, for every view to see; after a crash the
// next start merges the rest. What storage makes of bytes on a lying disk is tested there.
package sim
