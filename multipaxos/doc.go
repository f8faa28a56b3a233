// Package multipaxos is the replicated log: acceptor, leader and learner of Multi-Paxos as one state machine.
//
// Only pure code lives here: no goroutine, clock, socket or disk. A Core takes messages, ticks and the news that
// something is durable; it gives out what to make durable, what to send, and how far the log is chosen. The same
// inputs give the same outputs, so a Core can be cloned, hashed and explored. A Core is used by one goroutine.
//
// The log never reads a lease or a clock: it is safe with any number of nodes that believe they lead it. Who may
// call Lead, and what clients are shown, is decided above.
//
// Which rule lives where (rules of the log and M2–M5):
//
//	acceptor promises, and what it reports       acceptor.go  handlePrepare, raise
//	acceptor accepts                             acceptor.go  handleAccept, accept
//	nothing leaves before its state is durable   outbox.go    after, release; Core.Persisted
//	M2 fresh ballot, own durable promise first   phase1.go    Lead, ownPromise
//	M2 a truncated promise does not count        phase1.go    handlePromise
//	M3 highest value again, no-ops into gaps     phase1.go    finishPhase1, recovered
//	M5 one round per append                      phase2.go    Propose, place, handleAccepted
//	M5 a higher promise ends leading             core.go      see, preempt
//	own vote after the own disk                  phase2.go    ownVotes
//	votes are sets of voters                     phase2.go    vote, advance
//	chosen-through only under the same ballot    learner.go   advanceByMark
//	chosen values from others                    learner.go   learn
//	leadership confirmed by a quorum             confirm.go   handleConfirm, countConfirm
//	truncation below what all have folded        truncate.go
//	what a stalled disk may let pile up          backlog.go
//	what M6 above counts                         progress.go
//
// M1 and M4 belong to server/replica, which knows the lease and what is applied. DESIGN.md beside this file argues
// why the corners are safe.
package multipaxos
