// Package leases is a node's part for named leases. It answers other nodes as an acceptor, runs attempts for this
// node's clients, and decides when to try, to send again, to wait and to give up.
//
// It is pure, as package replica is: [Round] drives a [Part], the runner or the simulator carries out its effects, and
// time enters as readings of the node's elapsed clock. It shares nothing with the log and the master's lease. An era
// and the membership in force come in as events.
//
//	types.go                  requests, answers, what travels between nodes, configuration, status
//	round.go                  the driver
//	part.go, task.go          requests from their arrival to their answer
//	tick.go, timers.go        what is due when, and the policy's times
//	queue.go, pauses.go       who waits for a busy name, and for how long
//	outbox.go                 messages: which leave at once, and which linger
//	voters.go                 whom an attempt asks first; changes of the members
//	silence.go                how clients learn that a quorum has restarted
//
// # Where the rules are
//
// The policy is liveness only. Package named keeps the rules of an acceptor and of an attempt; the others are here:
//
//	T2  an event is handled by a reading made after it came   order
//	T4  no counter is used twice in a run                     Part.nextCounter
//	P2  replies to an earlier run are dropped                 Part.receive
//	P5  attempts back off, and what they leave is withdrawn   pauses.backoff, Part.withdraw
//	N2  a token is above those that refused attempts reported Part.finish
//	N3  an era is asked for before the last one is used up    Part.needsEra
//	N4  a bucket counts when it is durable                    Round.nextBucket, Event.Bucket
//	    a release is done when a quorum knows of it           Part.confirm
//	    each request is answered exactly once                 Part.answer
//	    unknown is never reported as not applied              task.failed, Part.stop, Part.cancel, Part.refuseInSilence
//	    a membership is told of when older stamps are counted Round.inForce
//	    requests, waiters and timers are bounded              Part.request, Part.tick
//
// DESIGN.md argues for the policy.
package leases
