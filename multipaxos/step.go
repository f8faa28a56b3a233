package multipaxos

import "tenure/internal/ballot"

// Step takes one message. A message that is malformed, for another node or of an unknown kind is counted and ignored.
// An error is damage on this node's disk: it must stop.
//
// Which messages of nodes are taken that are no members is for the caller to decide. Votes and promises count only by the
// memberships. A ballot far above all that this node has met is malformed.
func (c *Core) Step(m Message) error {
	if m.To != c.cfg.Self.Node || m.From == m.To || m.From == 0 || m.From > ballot.MaxNodeID || !m.wellFormed() ||
		m.counter() > c.met()+maxJump {
		c.ignored++
		return nil
	}
	c.leader.see(m.Ballot, &c.out)
	c.leader.see(m.Promised, &c.out)
	a, out := &c.acceptor, &c.out
	switch m.Kind {
	case KindPrepare:
		return a.handlePrepare(&m, out)
	case KindAccept:
		if a.handleAccept(&m, c.checkpoints.own, out) {
			c.learner.heed(&m, c.leader.phase, a, out)
		}
	case KindHeartbeat:
		if a.hears(&m, out) {
			c.learner.heed(&m, c.leader.phase, a, out)
			a.answerHeartbeat(&m, c.checkpoints.own, out)
		}
	case KindConfirm:
		a.handleConfirm(&m, out)
	case KindFetch:
		return c.learner.handleFetch(&m, a, out)
	case KindGone:
		c.learner.handleGone(&m, c.checkpoints.members, a, out)
	case KindLearn:
		c.checkpoints.heard(m.From, m.Chosen, 0)
		c.handleLearn(&m)
	case KindPromise:
		c.checkpoints.heard(m.From, m.Chosen, 0)
		c.leader.handlePromise(&m, a, out)
	case KindAccepted:
		c.checkpoints.heard(m.From, m.Chosen, m.Checkpointed)
		c.leader.handleAccepted(&m, a)
	case KindHeartbeatReply:
		c.checkpoints.heard(m.From, m.Chosen, m.Checkpointed)
		c.leader.handleHeartbeatReply(&m, a.chosen)
	case KindConfirmed:
		c.leader.handleConfirmed(&m, a)
	case KindReject: // see has done all that a rejection asks for
	}
	return nil
}

// met returns the highest counter of the ballots that this node has promised or seen.
func (c *Core) met() uint64 { return max(c.leader.seen.Counter, c.acceptor.promised.Counter) }

// handleLearn takes chosen entries from slot chosen+1 on. A leader learns only by counting votes: if it took values
// from others its mark would no longer speak of its own proposals alone. A higher ballot among them ends that.
func (c *Core) handleLearn(m *Message) {
	a := &c.acceptor
	c.learner.known = max(c.learner.known, m.Chosen)
	a.space.jam.loosen(m.Chosen) // others have it: it needs no place in the reserve
	before := a.chosen
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Slot <= before {
			continue
		}
		c.leader.see(e.Ballot, &c.out)
		if c.leader.phase == Leading {
			return
		}
		if !c.learner.next(e, a) {
			break
		}
		a.learn(*e)
	}
	if a.chosen == before {
		return
	}
	c.learner.waits, c.learner.missed, c.learner.hint = 0, 0, m.From // the others may have truncated it
	c.learner.advanceByMark(a)
	if c.leader.phase == Following {
		c.learner.fetch(m.From, a, &c.out)
	}
}
