// Package sim runs whole clusters of the real server/replica on a simulated network, disk and clock. It is
// single-threaded, and one seed is one run: the same events, the same trace hash, on every machine.
//
// The simulator takes the place of packages server and runner: everything that blocks is an event in virtual time. It
// runs the drivers of package replica, as the runner does, and may let time pass, or the process be paused, between any
// two of their effects, and between the two halves of a read.
//
// # Swarms
//
// A seed draws its cluster (1, 3 or 5 nodes), sizes, rates and a subset of the faults (plan.go): a run without pauses
// goes deeper into what crashes can do than one with everything. Each class of faults draws from a stream of its own:
// without a class the others stay much as they were, and shrink.go relies on that.
//
// Outside the promise. Clocks that stop or jump (Freeze) are outside what a lease promises. In such runs only what
// holds without clocks is checked: writes and consistent reads, one value per slot, durability, unique epochs.
//
// Members. In runs with Config.Members an operator adds, removes, replaces and promotes members meanwhile, takes some
// changes back, and repeats unanswered requests. Machines with empty disks join, lost disks are replaced, and removed
// nodes come back with their old state. In half of them machines join as spares too, and take the places of voters that
// stop. What else the seed draws is as without.
//
// # Where things are
//
//	a run, and how its parts fit together  run.go
//	time, events, trace                    engine.go, event.go, trace.go, describe.go, random.go
//	a computer and its clock               machine.go, clock.go
//	a disk                                 drive.go (at work), disk.go, journal.go (what is durable)
//	connections, partitions, frames        network.go, link.go, handshake.go, framer.go
//	a node's process                       node.go, process.go, handover.go
//	its loops                              logloop.go, electorloop.go, leasesloop.go
//	crash release                          guardian.go
//	members that come and go               operator.go, membersask.go (who changes them), inforce.go (how a node goes
//	                                       over), snapshots.go, install.go
//	spares                                 spares.go
//	copied disks                           copies.go
//	states that differ                     differ.go
//	faults                                 plan.go, fault.go, nemesis.go, stuck.go
//	what follows the faults                aftermath.go
//	clients                                caller.go, attempt.go; client.go: registers;
//	                                       locker.go: sessions, locks, times, transactions; leaser.go: named leases;
//	                                       pipeliner.go: sequences, as the Redis protocol sends them
//	checks of the log                      ledger.go, logcheck.go
//	checks of masters and their answers    masters.go, answercheck.go
//	the truth about the members            memberhistory.go
//	checks of what rests on time           oracle.go; leaseoracle.go: named leases
//	the check of progress in every phase   progress.go
//	the check of histories at the end      verdict.go
//	searching and shrinking                search.go, shrink.go
//
// # How parts share
//
// Every part owns its state and is given, when it is made, the parts that it uses. All embed the engine, which has the
// time, the plan, the trace and the counts of the run, and knows nobody. Parts of a node embed its machine: what they
// schedule there is dropped when the process has ended, and waits while it is paused.
//
// # The network
//
// Nodes send each other the bytes of package server/wire, and decode the bytes that arrive: frames are lost, late,
// repeated, cut off and garbled. The log has a connection between each two nodes, which keeps the order of its frames
// and ends with a damaged one. Other frames travel alone, which is worse than TCP's treatment of them.
//
// # The disk
//
// Commits go through storage's own journal into a file. A crash keeps any of its sectors that were not synced, and the
// recovered records are compared with the acknowledged ones. The files log.db and state.db are modelled by their
// records: a transaction happens whole or not at all, and a crash flips a coin over one that is under way. Half of the
// checkpoints have some of their changes in the state database from their beginning on, for every view to see; after a
// crash the next start merges the rest. What storage makes of bytes on a lying disk is tested there.
package sim
