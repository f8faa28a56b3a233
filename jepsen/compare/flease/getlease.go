package flease

import (
	"time"

	"tenure/internal/quorum"
)

// readAck is F2: with acks from a quorum of distinct processes the read commits with what was written under the highest
// ballot.
func (p *Proposer) readAck(now time.Duration, m Message) []Message {
	a := &p.attempt
	a.votes.Add(m.From)
	if a.written.Less(m.Written) {
		a.written, a.lease = m.Written, m.Lease
	}
	if !quorum.Reached(p.cfg.Voters, a.votes) {
		return nil
	}
	return p.decide(now)
}

// decide is F3, Algorithm 4 between its read and its write. A lease that has run out on this clock, but not by ε, may
// be held by an owner with a slower clock: nobody takes it, not even its owner. One that is free, or this process's
// own, becomes this process's from the start of the attempt on. Another's is written back as it was read, which
// completes it if it had not reached a quorum.
func (p *Proposer) decide(now time.Duration) []Message {
	a := &p.attempt
	if now >= a.until {
		p.end(EndExpired)
		return nil
	}
	l := a.lease
	switch {
	case !l.IsZero() && l.Until <= now && now < l.Until+p.cfg.Skew:
		p.waits, p.known = l.Until+p.cfg.Skew, l
		p.end(EndWaiting)
		return nil
	case l.IsZero() || l.Until <= now || l.Owner == p.cfg.Self:
		l = Lease{Owner: p.cfg.Self, Until: a.until}
	}
	a.phase, a.lease, a.votes, a.refused = PhaseWriting, l, quorum.Set{}, quorum.Set{}
	return p.unanswered()
}

// writeAck is F4: with acks from a quorum of distinct processes the write commits, and its lease is decided. If it is
// this process's, it owns, unless the expiry has passed: asked here, and by Held each time.
func (p *Proposer) writeAck(now time.Duration, m Message) {
	a := &p.attempt
	a.votes.Add(m.From)
	if !quorum.Reached(p.cfg.Voters, a.votes) {
		return
	}
	l := a.lease
	switch {
	case now >= a.until:
		p.end(EndExpired)
	case l.Owner == p.cfg.Self:
		p.held, p.known = l, l
		p.end(EndWon)
	default:
		p.known = l
		p.end(EndOther)
	}
}

// Held tells whether this process owns the lease at now, and until when: read from the stored expiry each time (§3.1,
// "valid as long as c_i(t_now) < t").
func (p *Proposer) Held(now time.Duration) (Lease, bool) {
	if now < p.held.Until {
		return p.held, true
	}
	return Lease{}, false
}

// Known is the lease that GetLease last returned or, while it waits for ε, last read. Unlike PaxosLease's hint it is
// true: until its expiry nobody else owns. Whether its owner knows of it is another matter.
func (p *Proposer) Known() Lease { return p.known }

// WaitsUntil is the reading of the clock at which the lease that ended the last attempt with EndWaiting is over
// everywhere.
func (p *Proposer) WaitsUntil() time.Duration { return p.waits }

// RenewAt is the reading of the clock at which a renewal should start: two thirds of t_max before the expiry, as in
// package lease. It is 0 if no lease was won yet.
func (p *Proposer) RenewAt() time.Duration { return max(0, p.held.Until-p.cfg.Lease/3*2) }

// Attempt describes the attempt in progress, and how the one before it ended.
type Attempt struct {
	Phase  Phase
	Ballot Ballot        // zero if there is none
	Until  time.Duration // the expiry that it began with
	Last   End
}

// Attempt is the state of the attempt in progress. One whose expiry has passed stays until the next Start, Resend or
// reply of a quorum; it can win nothing.
func (p *Proposer) Attempt() Attempt {
	return Attempt{Phase: p.attempt.phase, Ballot: p.attempt.ballot, Until: p.attempt.until, Last: p.last}
}
