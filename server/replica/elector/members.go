package elector

import (
	"time"

	"tenure/server/members"
)

// setMembership goes over to m. A number that is not newer changes nothing. An attempt under way goes on as it began,
// and so does a held lease: it is renewed under m if this node votes there, and runs out otherwise.
func (e *Part) setMembership(now time.Duration, m members.InForce) {
	if m.Number <= e.acceptor.Membership() {
		return
	}
	voted := e.votes()
	e.acceptor.SetMembership(m.Number)
	e.proposer.SetMembership(m.Number, m.Voters)
	e.cfg.Voters = m.Voters
	e.tenures.follow(m.Voters)
	e.outdated = 0
	if !voted && e.votes() {
		// The acceptor of a new voter has no record yet of the lease that somebody holds.
		e.tryAt = max(e.tryAt, now+e.cfg.Duration+e.rank(0))
	}
}

// votes reports whether this node is a voter. A node that is none starts no attempt.
func (e *Part) votes() bool { return e.cfg.Voters.Has(e.cfg.Self.Node) }

// InForce returns the number below which this node's acceptor of the master lease refuses stamps, and how long a lease
// accepted under an older stamp may still be held (see lease.Acceptor.OlderExclusion).
func (e *Part) InForce(now time.Duration) (number uint64, excluding time.Duration) {
	return e.acceptor.Membership(), e.acceptor.OlderExclusion(now)
}
