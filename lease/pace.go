package lease

import "time"

// RenewAt is the reading of the elapsed clock at which a renewal should start: two thirds of the lease before its
// deadline, so that, with the waits of RetryAfter, two more tries fit. It is 0 if no lease was won yet.
func (p *Proposer) RenewAt() time.Duration {
	return max(0, p.held.Deadline-p.held.Duration/3*2)
}

// RetryAfter is P5's random wait before the next attempt: between 1/32 and 1/8 of D_P. random, any evenly drawn number,
// chooses it. Without a lease of its own to save, it first waits out the rest of a lease that was in the way, as far as
// the acceptor's hint goes; a Release may make an earlier try worth while.
func (p *Proposer) RetryAfter(now time.Duration, random uint64) time.Duration {
	least, most := p.cfg.Duration/32, p.cfg.Duration/8
	wait := least + time.Duration(random%uint64(most-least+1))
	if _, held := p.Held(now); !held && p.last.Reason == EndBlocked {
		wait += min(max(0, p.last.Blocker.Left), p.cfg.Timing.MaxMaster*2)
	}
	return wait
}
