package multipaxos

import "tenure/internal/quorum"

// confirm is the leader's question to the voters whether anybody was promised more than its ballot.
type confirm struct {
	round uint64 // newest round started; rises through all attempts to lead
	done  uint64 // highest round that a quorum answered under the current ballot
	quiet int    // ticks since the newest round was sent
}

// Confirm starts a new round, and tells its number. A read uses only a round started after it arrived, and so never
// joins one that was already sent.
func (c *Core) Confirm() uint64 {
	c.confirm.round++
	if c.phase == Leading {
		c.sendConfirm()
		c.countConfirm()
	}
	return c.confirm.round
}

// ConfirmedRound is the highest round for which a quorum of distinct voters, the own acceptor among them, answered
// under the current ballot; 0 if none. An answer to a later round answers the earlier ones, which began before it.
func (c *Core) ConfirmedRound() uint64 { return c.confirm.done }

func (c *Core) sendConfirm() {
	c.confirm.quiet = 0
	for i := range c.peers {
		if p := &c.peers[i]; p.round < c.confirm.round {
			m := c.message(KindConfirm, p.node)
			m.Ballot, m.Round = c.ballot, c.confirm.round
			c.box.now(m)
		}
	}
}

// handleConfirm tells a leader that nothing above its ballot was promised here, promises not yet durable included.
func (c *Core) handleConfirm(m *Message) {
	if m.Ballot.Less(c.promised) {
		c.reject(m)
		return
	}
	r := c.message(KindConfirmed, m.From)
	r.Ballot, r.Round = m.Ballot, m.Round
	c.box.now(r)
}

func (c *Core) handleConfirmed(m *Message) {
	if c.phase != Leading || m.Ballot != c.ballot || m.Round > c.confirm.round {
		return
	}
	p := c.peer(m.From)
	p.round = max(p.round, m.Round)
	c.countConfirm()
}

// countConfirm finds the highest round with a quorum. The own acceptor answers at this moment, and without its
// consent there is none.
func (c *Core) countConfirm() {
	if c.ballot.Less(c.promised) {
		return
	}
	for i := -1; i < len(c.peers); i++ {
		round := c.confirm.round
		if i >= 0 {
			round = c.peers[i].round
		}
		if round <= c.confirm.done {
			continue
		}
		votes := quorum.Of(c.cfg.Self.Node)
		for j := range c.peers {
			if c.peers[j].round >= round {
				votes.Add(c.peers[j].node)
			}
		}
		if quorum.Reached(c.cfg.Voters, votes) {
			c.confirm.done = round
		}
	}
}
