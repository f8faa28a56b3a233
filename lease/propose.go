package lease

import (
	"time"

	"tenure/internal/quorum"
)

// propose is P3: with open promises from a quorum, and in time, Accept goes to all voters.
func (p *Proposer) propose(now time.Duration) []Message {
	a := &p.attempt
	if !quorum.Reached(a.under.voters, a.votes) {
		return nil
	}
	if !a.inTime(now) {
		p.expire()
		return nil
	}
	a.phase, a.votes, a.refused, a.obstacle = PhaseAccepting, quorum.Set{}, quorum.Set{}, End{}
	p.unreleased.add(a.ballot)
	return p.unanswered()
}
