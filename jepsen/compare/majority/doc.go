// Package majority is the naive majority vote of the PaxosLease paper's introduction (§1), as a pure core: to be
// compared with package lease, and beaten by it. The product does not use it. It never gives two owners. But a vote
// that is given is given for its whole time, so that with many proposers nobody may get a majority, again and again.
//
// A Proposer and an Acceptor take a message and now, the reading of their node's elapsed clock, as in package lease.
// Neither type is safe for concurrent use; both are plain data: Clone copies them and AppendState encodes what their
// future depends on.
//
//	rule  what                                                  where
//	V1    the proposer's timer starts, then requests go out     Proposer.Start
//	V2    an acceptor that is empty votes, another rejects      Acceptor.Handle
//	V3    a majority makes an owner, until the timer ends       Proposer.accepted, Held
//	V4    silence after a restart (as §3 has it for PaxosLease) Acceptor.silent
//
// Questions that the paper leaves open are decided in the vote's favour. An acceptor answers a rejection and does not
// leave the proposer waiting. A repeated request is answered as before and prolongs nothing. Distinct acceptors are
// counted. A clock may err by ρ, so an acceptor's time and silence are longer than a proposer's by as much as in
// package lease (T2, T3). There is no renewal and no release, as in the paper: the footnote's "undo" would be another
// algorithm.
package majority
