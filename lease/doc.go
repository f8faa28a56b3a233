// Package lease decides which node is master, and until when: PaxosLease (Trencseni, Gazso, Reinhardt), corrected.
// Leases of users, with names of their own, are in package named, which shares its times.
//
// The code is pure: a Proposer and an Acceptor take a message and `now`, the reading of their node's elapsed clock
// (includes suspend, is not slewed, shared with nobody), and return messages. No code here keeps time, sends, or writes
// to disk. Only the restart counter and the number of the membership are durable, and the durations that
// PlanQuarantine, and PlanBucket of package named, ask to store. Code that follows none of the labelled rules below
// does not belong here; the log never reads this package.
//
// Neither type is safe for concurrent use. Both are plain data: Clone copies them, and AppendState encodes the state
// that decides their future. So an explorer can walk the production code.
//
// Safety rests on clock rates that err by less than ρ, on ballots and incarnations that are never used twice, and on
// A4's silence. Messages may be lost, duplicated, delayed and reordered; processes may crash at any point.
//
//	rule  what                            where
//	P1    start an attempt                Proposer.StartFor
//	P2    count open promises             Proposer.promise, Proposer.open
//	P3    send Accept                     Proposer.propose
//	P4    own                             Proposer.own
//	P5    resend, abandon, retry          Proposer.Resend, refuse, abandon, RetryAfter
//	P6    release                         Proposer.Release
//	P7    release after a crash           Notes, Guardian.Due, CrashReleases
//	A1    prepare                         Acceptor.prepare
//	A2    accept                          Acceptor.accept
//	A3    release                         Acceptor.release
//	A4    silence after a restart         Acceptor.silent, PlanQuarantine, Quarantine.Record
//	L1    the owner is a hint             Acceptor.Live
//	T1    one deadline, from Prepare      attempt.inTime
//	T2    exclusion outlasts ownership    Timing.Exclusion
//	T3    and so does the silence         Timing.Quarantine
//	T4    ballots are unique for ever     Proposer.nextBallot, Proposer.ContinueAbove
//	M1    an unbroken tenure             Proposer.hold
//
// DESIGN.md tells why the rules differ from the paper's pseudo-code.
package lease
