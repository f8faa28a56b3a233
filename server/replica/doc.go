// Package replica is one node as a state machine: the log part with the applied state, and the requests that wait for
// it. Packages elector and leases below it are the parts for the master's lease and for named leases. Together they
// hold everything that must be right and nothing that can block.
//
// They are pure: no goroutine, clock, socket, disk or global randomness; the same inputs give the same outputs. Package
// runner drives them with real ones, the simulator with simulated ones.
//
// # The parts, and what joins them
//
// [Log] is the log part: the Multi-Paxos core, the key-value state, and pending requests. Each part is stepped by one
// goroutine at a time, and shares no lock with the others, so that no lease waits for the log or the disk. One value
// joins the log part and the elector, [Published]: the elector publishes its tenure and deadline, the log part for
// which tenure it is ready. The runner keeps it in one atomic variable. The log part also tells the elector whether
// this node may try ([Standing]), and orders it to let go ([elector.LetGo]). Named leases need the log for an era only.
//
// Snapshots have no driver: package snapshots decides how a node that is too far behind gets the state from another.
// Package clocks decides whether a node's clock may be trusted.
//
// # Drivers
//
// A part does not decide in which order it is asked. That is the work of its driver: [LogRound] for the log part,
// elector.Round and leases.Round for the leases, [ReadRound] for a read under the lease. A driver hands out one
// [effect.Effect] at a time; the caller carries it out and asks for the next one. The runner, the simulator, the
// scripts and the tests run the same drivers. The simulator stops a node between any two effects, so it can find any
// wrong order.
//
// # Where things are
//
//	the log part: its data, configuration and status     log.go, config.go, output.go, status.go
//	the order of a round, and its steps                  loground.go, logadvance.go, logapply.go, logmaster.go,
//	                                                     logtick.go
//	what joins it and the elector                        published.go, standing.go, progress.go, reports.go
//	mastership: epoch, who is master, hand-over          epoch.go, master.go, handover.go
//	requests and replies; what a client may be told      requestreply.go, outcome.go
//	writes: waiting, proposed, forwarded                 write.go, queue.go, batches.go, forward.go
//	reads: read points, and the end of a read            reads.go, readround.go
//	times that run in the state                          timers.go
//	how a run gets an era of fencing tokens              era.go
//	the values of the log, and messages beside its own   value.go, message.go
//	members: this node's view of them, space, level      members.go, space.go, levels.go
//	what the cluster would be without this node          ifstopped.go
//	members: changes, records, acknowledgements          changes.go, memberrecord.go, inforce.go, settling.go
//	nodes that are no members                            removed.go, outsiders.go
//	checkpoints, who needs the log                       checkpoint.go, pins.go
//	comparisons of the nodes' states                     compareslots.go, digests.go, differ.go
//	what package snapshots must know of this node        snapshotview.go
//
// # Where the rules are
//
//	T2  an event is handled by a reading made after it came   logBeginning
//	    the clock is read again after entries were applied    logPass
//
//	M1  a new tenure forgets every earlier recovery           Log.follow
//	M4  ready only when the barrier entry is applied          epoch.applied
//	M5  a higher promise ends readiness, same tenure          Log.follow
//	M6  a holder that gets nowhere lets go                    progress.step, Log.tickProgress
//	    who is able, and who may try                          progress.fit, progress.barred, standBack
//	    a write is acknowledged only under the lease          batches.acknowledge
//	    a read is answered only if the lease is held after it readOrder, Published.End; readers.finishAtMaster
//	    a consistent read never joins a round already sent    readers.start
//	    unknown is never reported as refused                  outcome.go
//
// How members change is in package members; what the master does for it is here:
//
//	a record is computed from the one that it replaces        Log.driveMembers, Log.adopt
//	nothing acts on it before it is chosen and applied        inForceHere.hand
//	C(k+1) only once C(k) is settled                          settling.step
//	an acknowledgement is durable, with all entries below it  inForceHere.told
//	who decides the first slots after a restart               BaseMembership
//	a node that is no voter does not lead                     Log.follow
//
// M2 and M3 are the core's (package multipaxos). Time enters as a reading of the node's elapsed clock. A write is
// acknowledged, and a read is answered, by a reading made after the state was changed or read: a pause in between must
// be seen. DESIGN.md argues for the drivers and the policies.
package replica
