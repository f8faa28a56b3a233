package multipaxos

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// phase2 is what a leader has proposed under its ballot and not yet seen chosen.
type phase2 struct {
	next  Slot             // next slot to propose in
	own   Slot             // first slot whose own vote is not counted yet
	votes ring[quorum.Set] // of slots chosen+1, … next−1
	bytes int              // of their values
	quiet int              // ticks since the last round of heartbeats
}

// Room tells whether Propose would succeed: leading, the window not full, and the own disk not far behind a quorum of
// others. A value may overshoot WindowBytes.
func (c *Core) Room() bool {
	return c.phase == Leading && c.phase2.votes.len() < c.cfg.WindowEntries && c.phase2.bytes < c.cfg.WindowBytes && !c.flooded()
}

// Propose puts value into the next slot: one round, with other slots still in flight (M5). The Accepts leave with the
// next Take, in parallel with the own disk write. It is false, and nothing was proposed, if there is no Room.
func (c *Core) Propose(value []byte) (Slot, bool) {
	if !c.Room() {
		return 0, false
	}
	return c.place(value), true
}

// place votes for value in the next slot as the own acceptor, and opens the count. The own vote is not in it yet.
func (c *Core) place(value []byte) Slot {
	if c.promised != c.ballot {
		panic("multipaxos: proposing under a ballot that is not the own promise")
	}
	s := c.phase2.next
	c.phase2.next++
	c.phase2.votes.push(quorum.Set{})
	c.phase2.bytes += len(value)
	c.store(Entry{Slot: s, Ballot: c.ballot, Value: value})
	return s
}

// flush sends every peer what it has not been sent, as far as its flight allows. Chosen slots are skipped: a peer
// that lacks one fetches it. Peers that are equally far share one page.
func (c *Core) flush() {
	if c.phase != Leading {
		return
	}
	var page []Entry
	var bytes int
	for i := range c.peers {
		p := &c.peers[i]
		p.next = max(p.next, c.chosen+1)
		for p.next < c.phase2.next && p.mayFly(&c.cfg) {
			if len(page) == 0 || page[0].Slot != p.next {
				page, bytes = c.page(p.next)
			}
			m := c.message(KindAccept, p.node)
			m.Ballot, m.Entries = c.ballot, page
			m.Chosen, m.Folded = c.advertised(), c.foldedAll
			p.toldChosen, p.toldFolded = m.Chosen, m.Folded
			p.sent(page[len(page)-1].Slot, len(page), bytes)
			c.box.now(m)
		}
	}
}

// page is a row of own proposals from slot s; they are all in memory.
func (c *Core) page(s Slot) ([]Entry, int) {
	page := make([]Entry, 0, min(int(c.phase2.next-s), maxPageEntries))
	bytes := 0
	for ; s < c.phase2.next && len(page) < maxPageEntries && bytes < c.cfg.PageBytes; s++ {
		e := c.log.at(s).Entry
		page = append(page, e)
		bytes += len(e.Value)
	}
	return page, bytes
}

func (c *Core) handleAccepted(m *Message) {
	p := c.peer(m.From)
	if p.heard(m.Chosen, m.Folded) {
		c.gatherFolded()
	}
	if c.phase != Leading || m.Ballot != c.ballot || m.Through >= c.phase2.next {
		return
	}
	if m.Through > p.acked {
		c.pieces++
	}
	p.landed(m.Through)
	for s := max(m.Slot, c.chosen+1); s <= m.Through; s++ {
		c.vote(p.node, s)
	}
	c.advance()
}

// ownVotes counts the own acceptor's votes as far as they are durable.
func (c *Core) ownVotes() {
	if c.phase != Leading {
		return
	}
	f := &c.phase2
	for f.own = max(f.own, c.chosen+1); f.own < f.next && c.log.at(f.own).seq <= c.box.durable; f.own++ {
		c.vote(c.cfg.Self.Node, f.own)
	}
	c.advance()
}

// vote counts a node for slot s, above the chosen mark. A node counts once, however often it says so.
func (c *Core) vote(id ballot.NodeID, s Slot) {
	c.phase2.votes.at(int(s - c.chosen - 1)).Add(id)
}

// unvoted is the first slot above the chosen mark that p has not acknowledged, or the next to propose.
func (c *Core) unvoted(p *peer) Slot {
	for i := range c.phase2.votes.len() {
		if !c.phase2.votes.at(i).Has(p.node) {
			return c.chosen + 1 + Slot(i)
		}
	}
	return c.phase2.next
}

// advance moves the chosen mark over the slots that a quorum has voted for, in order.
func (c *Core) advance() {
	f := &c.phase2
	for f.votes.len() > 0 && quorum.Reached(c.cfg.Voters, *f.votes.at(0)) {
		f.votes.pop()
		c.chosen++
		f.bytes -= len(c.log.at(c.chosen).Value)
	}
	c.known = max(c.known, c.chosen)
	c.evict()
}
