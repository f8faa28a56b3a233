package multipaxos

import "tenure/internal/ballot"

// Step takes one message. A message that is malformed, for another node or of an unknown kind changes nothing.
// An error is damage on this node's disk: it must stop.
//
// The caller decides whether to pass on messages of nodes that are not members. Their votes and promises do not count.
// A ballot far above every ballot that this node has promised or seen is malformed.
func (c *Core) Step(m Message) error {
	if m.To != c.cfg.Self.Node || m.From == m.To || m.From == 0 || m.From > ballot.MaxNodeID || !m.wellFormed() ||
		m.counter() > max(c.leader.seen.Counter, c.acceptor.promised.Counter)+maxJump {
		return nil
	}
	c.leader.see(m.Ballot, &c.out)
	c.leader.see(m.Promised, &c.out)
	a, out := &c.acceptor, &c.out
	switch m.Kind {
	case KindPrepare:
		return a.handlePrepare(&m, out)
	case KindAccept:
		if a.handleAccept(&m, out) {
			c.learner.heed(&m, c.leader.phase, a, out)
		}
	case KindMark:
		if a.hears(&m, out) {
			a.space.jam.loosen(m.Chosen)
			c.learner.heed(&m, c.leader.phase, a, out)
			a.answerMark(&m, out)
		}
	case KindConfirm:
		a.handleConfirm(&m, out)
	case KindFetch:
		return c.learner.handleFetch(&m, a, out)
	case KindGone:
		c.learner.handleGone(&m, c.others, a, out)
	case KindLearn:
		c.learner.handleLearn(&m, func(b ballot.Ballot) Phase {
			c.leader.see(b, out)
			return c.leader.phase
		}, a, out)
	case KindPromise:
		c.leader.handlePromise(&m, a, out)
	case KindAccepted:
		c.leader.handleAccepted(&m, a)
	case KindMarkReply:
		c.leader.handleMarkReply(&m, a.chosen)
	case KindConfirmed:
		c.leader.handleConfirmed(&m, a)
	case KindReject: // see has done all that a rejection asks for
	}
	return nil
}
