package multipaxos

import (
	"bytes"
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// phase1 is what a preparing leader has found out.
type phase1 struct {
	seq   uint64      // the Persist that carries the own promise
	own   bool        // which is durable
	found ring[Entry] // slots base, base+1, …: the highest-ballot entry reported; zero ballot: none
	base  Slot
	quiet int // ticks since the Prepares were last sent
}

// Lead begins to lead under a fresh ballot (M2): above everything promised here or seen anywhere, and of this
// incarnation, so it was never used before. No Prepare leaves before the own promise to this ballot is durable.
// Whatever an earlier attempt had in flight is found again by Phase 1 or lost to it.
func (c *Core) Lead() {
	c.Retire()
	b := ballot.New(c.seen.Max(c.promised).Counter+1, c.cfg.Self)
	c.ballot, c.phase = b, Preparing
	c.raise(b)
	c.phase1.seq = c.promisedSeq
	for i := range c.peers {
		c.peers[i].asked = c.chosen + 1
		c.box.after(c.phase1.seq, c.prepare(&c.peers[i]))
	}
}

// Retire stops leading. Nothing more is sent or counted under the ballot.
func (c *Core) Retire() {
	c.phase, c.preempted, c.ballot = Following, false, ballot.Ballot{}
	c.clearLeader()
}

func (c *Core) prepare(p *peer) Message {
	m := c.message(KindPrepare, p.node)
	m.Ballot, m.Slot = c.ballot, p.asked
	return m
}

// ownPromise counts the own acceptor once its promise is durable. What it would report is in the log.
func (c *Core) ownPromise() {
	if c.phase == Preparing && !c.phase1.own && c.phase1.seq <= c.box.durable {
		c.phase1.own = true
		c.finishPhase1()
	}
}

// handlePromise takes a page of a promise (M2). A page counts if it is the one asked for and nothing of what it
// should cover is truncated; a promise counts once its last page did. Slots at or below the promiser's own chosen
// mark hold chosen values, and are learned in order instead of being proposed again.
func (c *Core) handlePromise(m *Message) {
	p := c.peer(m.From)
	p.chosen = max(p.chosen, m.Chosen)
	c.gone = max(c.gone, m.Truncated)
	if c.phase != Preparing || m.Ballot != c.ballot || !c.phase1.own || p.complete || m.Slot != p.asked {
		return
	}
	if m.Truncated >= m.Slot {
		// No-ops could land on chosen slots that this acceptor no longer knows. Ask again from what is known by then.
		p.asked = max(p.asked, c.chosen+1)
		return
	}
	c.pieces++
	through := m.Slot
	for _, e := range m.Entries {
		through = e.Slot
		if e.Slot == c.chosen+1 && e.Slot <= m.Chosen {
			c.learn(e)
		} else if e.Slot > c.chosen && !c.phase1.offer(e, c.chosen) {
			c.ignored++
			return
		}
	}
	c.known = max(c.known, c.chosen)
	c.evict()
	if m.Last {
		p.complete = true
		c.finishPhase1()
		return
	}
	p.asked = max(through, c.chosen) + 1
	if p.held = c.flooded(); !p.held {
		c.box.now(c.prepare(p))
	}
}

// offer keeps e if its ballot is the highest reported for its slot. It refuses slots beyond what acceptors store.
func (f *phase1) offer(e Entry, chosen Slot) bool {
	if e.Slot > chosen+2*maxAhead {
		return false
	}
	for f.found.len() > 0 && f.base <= chosen {
		f.found.pop()
		f.base++
	}
	if f.found.len() == 0 {
		f.base = chosen + 1
	}
	for f.base+Slot(f.found.len()) <= e.Slot {
		f.found.push(Entry{})
	}
	if best := f.found.at(int(e.Slot - f.base)); best.Ballot.Less(e.Ballot) {
		*best = e
	}
	return true
}

// at is the best entry reported for s; a zero ballot if none was.
func (f *phase1) at(s Slot) Entry {
	if s < f.base || s-f.base >= Slot(f.found.len()) {
		return Entry{}
	}
	return *f.found.at(int(s - f.base))
}

// finishPhase1 starts to lead once a quorum, by distinct nodes, has promised completely: every slot above the chosen
// mark that anybody reported is proposed again under the own ballot (M3).
func (c *Core) finishPhase1() {
	var done quorum.Set
	if c.phase1.own {
		done.Add(c.cfg.Self.Node)
	}
	for i := range c.peers {
		if c.peers[i].complete {
			done.Add(c.peers[i].node)
		}
	}
	if !quorum.Reached(c.cfg.Voters, done) {
		return
	}
	found := c.phase1
	c.phase1 = phase1{}
	c.phase = Leading
	first := c.chosen + 1
	c.phase2 = phase2{next: first, own: first}
	for i := range c.peers {
		c.peers[i].reset()
		c.peers[i].next = first
	}
	top := max(c.log.last(), found.base+Slot(found.found.len()))
	for top > c.chosen && found.at(top).Ballot.IsZero() && c.log.at(top) == nil {
		top--
	}
	for s := first; s <= top; s++ {
		c.place(c.recovered(&found, s))
	}
}

// recovered is the value that must be proposed in s (M3): that of the highest ballot reported, the own acceptor's
// among them, or a no-op if there is none.
func (c *Core) recovered(found *phase1, s Slot) []byte {
	best := found.at(s)
	if r := c.log.at(s); r != nil {
		if r.Ballot == best.Ballot && !bytes.Equal(r.Value, best.Value) {
			panic(fmt.Sprintf("multipaxos: slot %d has two values under %v", s, r.Ballot))
		}
		if best.Ballot.Less(r.Ballot) {
			best = r.Entry
		}
	}
	return best.Value
}
