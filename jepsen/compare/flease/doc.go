// Package flease is Flease, the lease of a round-based register and loosely synchronised clocks, as a pure core: to be
// compared with package lease by the same explorer and the same schedules. The product does not use it;
// docs/leases-compared.md says why.
//
// Every process is an Acceptor, its part of the register, and may be a Proposer, which calls GetLease. Both take a
// message and now, the reading of their process's *wall* clock: at any time no two readings may differ by more than ε
// (paper §3.1). That is all that is asked of clocks: how fast they go does not matter otherwise. An expiry is a point
// of that common time, so everybody who reads one knows when the lease ends.
//
// Neither type is safe for concurrent use. Both are plain data: Clone copies them and AppendState encodes what their
// future depends on. Messages may be lost, delayed, reordered and, unlike in the paper, repeated; processes may crash
// at any point and forget all.
//
//	rule  what                                    paper                     where
//	F1    start: ballot and expiry, then READ     Algorithm 4, corrected    Proposer.Start
//	F2    read: distinct processes, the highest   Algorithm 1, read         Proposer.readAck
//	F3    decide: wait ε, take, renew, copy       Algorithm 4               Proposer.decide
//	F4    write, and own in time                  Algorithm 1, write; §3.1  Proposer.writeAck, Held
//	F5    READ at the register                    Algorithm 1               Acceptor.read
//	F6    WRITE at the register                   Algorithm 1               Acceptor.write
//	F7    silence after a restart                 §3.5, corrected           Config.RestartWait, silent
//	F8    ballots from the clock                  §3.5, §3.6, corrected     Proposer.draw
//
// DESIGN.md tells what differs from the paper and why.
package flease
