package multipaxos

import "tenure/internal/ballot"

// Tick passes time, about 20 ms by count. It repeats what may have been lost, in bounded bursts: at most one message
// of a kind per peer.
func (c *Core) Tick() error {
	c.tickTruncate()
	c.tickChosenMark()
	c.tickJam()
	switch c.phase {
	case Following:
		c.tickFetch()
	case Preparing:
		c.tickPrepare()
	case Leading:
		c.tickLeading()
	}
	return nil
}

// tickChosenMark gives the chosen mark a Persist of its own if for long there was none to ride on.
func (c *Core) tickChosenMark() {
	if c.chosen == c.chosenIssued {
		c.markTicks = 0
		return
	}
	if c.markTicks++; c.markTicks >= chosenTicks {
		c.persist()
	}
}

func (c *Core) tickPrepare() {
	if !c.phase1.own {
		return
	}
	if c.phase1.quiet++; c.phase1.quiet < prepareTicks {
		return
	}
	c.phase1.quiet = 0
	for i := range c.peers {
		if p := &c.peers[i]; !p.complete && !p.held {
			c.box.now(c.prepare(p))
		}
	}
}

func (c *Core) tickLeading() {
	f := &c.phase2
	f.quiet++
	beat := f.quiet >= heartbeatTicks
	if beat {
		f.quiet = 0
	}
	for i := range c.peers {
		p := &c.peers[i]
		c.tickFlight(p)
		if beat || p.toldChosen != c.advertised() || p.toldFolded != c.foldedAll {
			c.heartbeat(p)
		}
	}
	if c.confirm.done < c.confirm.round {
		if c.confirm.quiet++; c.confirm.quiet >= confirmTicks {
			c.sendConfirm()
		}
	}
}

// tickFlight starts over with a peer that has acknowledged nothing for too long: from the first slot it owes an
// answer for, one message at a time, more and more rarely.
func (c *Core) tickFlight(p *peer) {
	owed := c.unvoted(p)
	if p.flight.len() == 0 && owed >= p.next {
		p.quiet = 0
		return
	}
	if p.quiet++; p.quiet < p.patience {
		return
	}
	p.quiet, p.patience, p.probe = 0, min(2*p.patience, maxPatienceTicks), true
	p.rewind(owed)
}

// heartbeat tells a peer how far the log is, and how far it should have it.
func (c *Core) heartbeat(p *peer) {
	m := c.message(KindHeartbeat, p.node)
	m.Ballot, m.Chosen, m.Folded = c.ballot, c.advertised(), c.foldedAll
	if p.next > 0 {
		m.Through = p.next - 1
	}
	p.toldChosen, p.toldFolded = m.Chosen, m.Folded
	c.box.now(m)
}

// handleHeartbeatReply sends again what the peer was sent and lacks: connections keep order, so it was lost.
func (c *Core) handleHeartbeatReply(m *Message) {
	p := c.peer(m.From)
	if p.heard(m.Chosen, m.Folded) {
		c.gatherFolded()
	}
	if c.phase != Leading || m.Ballot != c.ballot || m.Slot <= c.chosen || m.Slot >= p.next {
		return
	}
	p.rewind(m.Slot)
}

// Connected is told that a new connection to a peer stands. What was in flight on the old one is lost: it is sent
// again at once, one message until the peer answers.
func (c *Core) Connected(id ballot.NodeID) {
	p := c.peer(id)
	if p == nil {
		return
	}
	switch c.phase {
	case Following:
		c.fetchWait = 0
		c.fetch(id)
	case Preparing:
		if c.phase1.own && !p.complete && !p.held {
			c.box.now(c.prepare(p))
		}
	case Leading:
		p.rewind(c.unvoted(p))
		p.probe, p.quiet, p.patience = true, 0, minPatienceTicks
		c.heartbeat(p)
	}
}
