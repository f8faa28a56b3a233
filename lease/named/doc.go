// Package named is PaxosLease for any number of resources besides the master's (paper §8): leases that users own by a
// name of their own, with fencing tokens. Nothing about a lease is on a disk, only a bound on their lengths (N4). The
// rules of package lease hold here too, as changed by N1 to N4; what is smaller is what an acceptor remembers.
//
//   - A Table is the acceptor of all names: one record of fixed size each, names as keyed hashes, owners' texts kept
//     once, the names as people write them in cells without pointers. A record is dropped some time after its lease has
//     ended.
//   - An Attempt is one run of the proposer, P1 to P4, for one name. A node keeps nothing between attempts: a renewal
//     brings the acquisition along, so any node can make it.
//   - The owner's own end, N1's deadlines, is internal/leasehold.
//
// The code is pure, as in package lease: `now` is a reading of the node's elapsed clock. No type is safe for concurrent
// use.
//
//	rule  what                                     where
//	P1    start an attempt                         Begin
//	P2    count open promises                      Attempt.promise, Attempt.open (N1 in place of the base)
//	P3    send Accept                              Attempt.propose
//	P4    own                                      Attempt.own
//	P5    resend, abandon, withdraw                Attempt.Requests, Attempt.refuse, Attempt.Withdrawal
//	A1    prepare                                  Table.prepare
//	A2    accept                                   Table.accept
//	A3    release, by acquisition or exact ballot  Table.release, Table.withdraw
//	A4    silence after a restart                  Table.silent
//	L1    the owner is a hint                      Table.Live
//	N1    the owner is an acquisition              record.blocks, Attempt.open
//	N2    tokens grow                              Table.report, Table.takes, Table.drop, Attempt.token
//	N3    eras                                     Table.Open, Token.next
//	N4    the silence is for the longest leases    buckets.covers, Table.NextBucket, PlanBucket
//
// lease/DESIGN.md argues them.
package named
