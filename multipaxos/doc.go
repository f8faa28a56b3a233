// Package multipaxos is the replicated log: acceptor, leader and learner of Multi-Paxos as one state machine.
//
// Only pure code lives here: no goroutine, clock, socket or disk. A Core takes messages, ticks and reports of durable
// writes. It gives out writes to make durable, messages to send, and how far the log is chosen. The same inputs give
// the same outputs, so a Core can be cloned, hashed and explored. A Core is used by one goroutine.
//
// The log never reads a lease or a clock: it is safe with any number of nodes that believe they lead it. Who may
// call Lead, and what clients are shown, is decided above.
//
// A Core consists of components that own their state. A component may be handed those above it in this list, and never
// Core:
//
//	outbox       messages, and which Persist each of them waits for
//	writes       the Persist being gathered, and what the disk owes
//	entryLog     the accepted entries, in memory and through the Reader
//	memberships  who decides which slot, as the log says
//	acceptor     the promise, the log and its chosen mark, with writes and space
//	learner      what others say is chosen, and fetching it
//	leader       this node's attempt to lead: phase1, phase2, confirm, prompt, and a peer for each other member
//
// Which rule lives where (rules of the log and M2–M5):
//
//	acceptor promises, and what it reports       acceptor.go  handlePrepare, raise
//	acceptor accepts                             acceptor.go  handleAccept, accept
//	nothing leaves before its state is durable   outbox.go    after, release; Core.Persisted
//	M2 fresh ballot, own durable promise first   phase1.go    lead, ownPromise
//	M2 a truncated promise does not count        phase1.go    handlePromise
//	M3 highest value again, no-ops into gaps     phase1.go    finishPhase1, recovered
//	M5 one round per append                      phase2.go    place, handleAccepted; Core.Propose
//	M5 a higher promise ends leading             leader.go    see, preempt
//	own vote after the own disk                  phase2.go    ownVotes
//	votes are sets of voters                     phase2.go    vote, advance
//	chosen-through only under the same ballot    learner.go   advanceByMark
//	chosen values from others                    acceptor.go  learn; learner.go handleLearn
//	whom entries are sent at once: policy        prompt.go    holdsBack; phase2.go flush, send
//	leadership confirmed by a quorum             acceptor.go  handleConfirm; confirm.go countConfirm
//	a slot is decided by the membership below it membership.go governing; phase2.go vote, advance
//	promises carry the newest membership         membership.go told
//	Phase 1 in every membership that it meets    phase1.go    meet, phase1Done; leader.go follow
//	nothing above an open membership entry       phase2.go    mayPlace; Core.ProposeMembership
//	truncation by the node's own bound           truncate.go, tail.go
//	what a stalled disk may let pile up          writes.go    backlog
//	an entry is gone everywhere: a snapshot      learner.go   handleFetch; status.go Behind. Who fetches one:
//	                                             package snapshots of server/replica
//	what progress.step of server/replica counts  status.go    Pieces, Behind; Core.Probe
//
// M1 and M4 belong to server/replica, which knows the lease and what is applied. DESIGN.md beside this file argues
// why the corners are safe.
package multipaxos
