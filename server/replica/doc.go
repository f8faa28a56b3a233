// Package replica is one node as a state machine: the lease part, the log part with the applied state, and the
// requests that wait for them. It holds everything that must be right and nothing that can block.
//
// It is pure: no goroutine, clock, socket, disk or global randomness; the same inputs give the same outputs. The
// shell (package server) drives it with real ones, the simulator with simulated ones.
//
// # Two parts, one joint
//
// [Elector] is the lease part: the proposer and acceptor of the resource "master" and the policy of when to try.
// [Log] is the log part: the Multi-Paxos core, the key-value state, and pending requests. Each is stepped by one
// goroutine of its own, so that the lease never waits for the log or the disk. One value joins them, [Published]:
// the lease part publishes its holding and deadline, the log part for which holding it is ready. The shell keeps it
// in one atomic variable.
//
// # Where the rules are
//
//	M1  a new holding forgets every earlier recovery          Log.follow
//	M4  ready only when the opening entry is applied          Log.opened
//	M5  a higher promise ends readiness, same holding         Log.follow
//	M6  a holder that gets nowhere lets go                    progress.step, Log.tickProgress
//	    who is able, and who may try                          progress.able, progress.barred, standBack
//	    a write is acknowledged only under the lease          Log.Finish
//	    a read is answered only if the lease is held after it Published.End, Log.Finish
//	    a consistent read never joins a round already sent    readers.start
//	    unknown is never reported as refused                  outcome.go
//
// M2 and M3 are the core's (package multipaxos). Time enters as a reading of the node's elapsed clock; Finish takes a
// second, later reading, because a read that works under the lease is two handlers: a pause between taking the data
// and checking the lease must be seen.
package replica
