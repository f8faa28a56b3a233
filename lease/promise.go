package lease

import "time"

// promise is P2: it counts distinct acceptors, never messages, and ignores replies of another ballot or phase. An
// acceptor's first answer stands: it was true when the acceptor promised, and later records of other owners cannot be
// below that promise.
func (p *Proposer) promise(now time.Duration, m Message) []Message {
	a := &p.attempt
	if a.phase != PhasePreparing || m.Ballot != a.ballot || a.answered(m.From) {
		return nil
	}
	if !p.open(now, m) {
		p.refuse(m)
		return nil
	}
	a.votes.Add(m.From)
	return p.propose(now)
}

// open is P2's check of one promise: it must show no live lease. In a renewal whose base is held at this moment it may
// show a live lease of this incarnation that is not older than the base. In a fresh attempt a live record of this very
// incarnation blocks too: an abandoned attempt has left it, and its Release may be under way.
func (p *Proposer) open(now time.Duration, m Message) bool {
	if !m.Live {
		return true
	}
	if p.attempt.base.IsZero() {
		return false
	}
	_, held := p.Held(now)
	return held && m.LiveOwner == p.cfg.Self && !m.LiveBallot.Less(p.attempt.base)
}
