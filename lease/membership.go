package lease

import (
	"time"

	"tenure/internal/quorum"
)

// membership is what a proposer asks under: the stamp, and whom it asks.
type membership struct {
	number uint64
	voters quorum.Set
}

// stamp returns the number of a membership, as messages and configurations give it: before members could change there
// was only the first one, and no message said so.
func stamp(number uint64) uint64 { return max(number, 1) }

// SetMembership makes later attempts ask these voters under that number. The number must be durable, and its membership
// chosen. The attempt under way keeps the stamp and the voters that it began with: whether it has a quorum is a
// question about one membership. An older number changes nothing.
func (p *Proposer) SetMembership(number uint64, voters quorum.Set) {
	if number > p.current.number {
		p.current = membership{number, voters}
	}
}

// Membership returns the number under which the next attempt asks.
func (p *Proposer) Membership() uint64 { return p.current.number }

// SetMembership makes the acceptor refuse every older stamp from now on. The number must be durable, so that later runs
// refuse them too. An older number changes nothing.
func (a *Acceptor) SetMembership(number uint64) {
	if number > a.membership {
		a.membership = number
		a.older = a.master.until // never before an earlier one that has not passed
	}
}

// Membership returns the number below which stamps are refused.
func (a *Acceptor) Membership() uint64 { return a.membership }

// outdated reports whether m, a Prepare or an Accept, is of a proposer that has missed a change of the members: it gets
// no promise and no record. Newer stamps are taken: a proposer's membership is in force there, so it is chosen, and this
// acceptor is about to learn it.
func (a *Acceptor) outdated(m Message) bool { return stamp(m.Membership) < a.membership }

// OlderExclusion returns how long leases of memberships older than the one in force here may still be held: the longest
// exclusion left of a record accepted before SetMembership or, for forgotten records, the rest of A4's silence. No
// lease of an older membership can be won any more once enough acceptors to block its majorities have the newer one in
// force.
func (a *Acceptor) OlderExclusion(now time.Duration) time.Duration {
	return max(a.QuarantineLeft(now), a.older-now, 0)
}
