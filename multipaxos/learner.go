package multipaxos

import (
	"bytes"
	"fmt"

	"tenure/internal/ballot"
)

// mark is the newest word of a leader: whatever was proposed under its ballot in slots up to through is chosen.
// Being about one ballot only, it stays true for ever, whoever leads later.
type mark struct {
	ballot  ballot.Ballot
	through Slot
}

// noteMark takes the chosen mark that came with a leader's message, and asks for what it does not explain.
func (c *Core) noteMark(from ballot.NodeID, b ballot.Ballot, through Slot) {
	switch c.mark.ballot.Compare(b) {
	case -1:
		c.mark = mark{b, through}
	case 0:
		c.mark.through = max(c.mark.through, through)
	}
	c.known = max(c.known, through)
	c.hint = from
	c.advanceByMark()
	c.fetch(from)
}

// advanceByMark calls slots chosen from a leader's mark, but only those whose vote here is of that leader's ballot:
// what was accepted in a slot under another ballot need not be what was chosen there.
func (c *Core) advanceByMark() {
	if c.phase == Leading {
		return
	}
	for c.chosen < c.mark.through {
		r := c.log.at(c.chosen + 1)
		if r == nil || r.Ballot != c.mark.ballot {
			break
		}
		c.chosen++
	}
	c.known = max(c.known, c.chosen)
	c.evict()
}

// learn takes the chosen value of slot chosen+1 from another's log. It is stored as if accepted under the ballot
// that the other had it from. That ballot is at least the first under which a quorum chose, so every vote at or
// above it is for the same value, and no leader that is to come is misled. A higher own ballot is kept.
func (c *Core) learn(e Entry) {
	if r := c.log.at(e.Slot); r != nil && !r.Ballot.Less(e.Ballot) {
		if !bytes.Equal(r.Value, e.Value) {
			panic(fmt.Sprintf("multipaxos: slot %d was chosen under %v with another value than %v holds", e.Slot, e.Ballot, r.Ballot))
		}
	} else {
		c.store(e)
	}
	c.chosen = e.Slot
}

// handleLearn takes chosen entries from slot chosen+1 on. A leader learns only by counting votes: if it took values
// from others its mark would no longer speak of its own proposals alone. A higher ballot among them ends that.
func (c *Core) handleLearn(m *Message) {
	p := c.peer(m.From)
	p.chosen = max(p.chosen, m.Chosen)
	c.known = max(c.known, m.Chosen)
	before := c.chosen
	for _, e := range m.Entries {
		if e.Slot <= before {
			continue
		}
		c.see(e.Ballot)
		if c.phase == Leading {
			return
		}
		if e.Slot != c.chosen+1 {
			break
		}
		if c.refuses(&e) {
			c.starved = c.cfg.NeedOf(e.Value) >= c.full
			break
		}
		c.learn(e)
	}
	if c.chosen > before {
		c.fetchWait = 0
		c.advanceByMark()
		c.fetch(m.From)
	}
}

// fetch asks a node for the chosen entries that are missing here. One question is out at a time; Tick repeats it.
// While the own disk is behind there is none: what is learned stays in memory until it is durable.
func (c *Core) fetch(from ballot.NodeID) {
	if c.phase != Following || c.known <= c.chosen || c.fetchWait > 0 || c.flooded() || c.starved {
		return
	}
	m := c.message(KindFetch, from)
	m.Slot = c.chosen + 1
	c.fetchWait = fetchTicks
	c.box.now(m)
}

// tickFetch repeats an unanswered question, of the next node by id: the one asked may lack the answer too.
func (c *Core) tickFetch() {
	if c.fetchWait > 0 {
		c.fetchWait--
	}
	if c.fetchWait > 0 || c.known <= c.chosen || len(c.peers) == 0 || c.flooded() || c.starved {
		return
	}
	if c.peer(c.hint) == nil {
		c.hint = c.peers[0].node
	}
	c.fetch(c.hint)
	for i := range c.peers {
		if c.peers[i].node == c.hint {
			c.hint = c.peers[(i+1)%len(c.peers)].node
			return
		}
	}
}

// handleFetch answers with a page of chosen entries, as far as this node would show them itself.
func (c *Core) handleFetch(m *Message) error {
	adv := c.advertised()
	if m.Slot > adv || m.Slot <= c.log.truncated {
		return nil
	}
	page, err := c.log.read(m.Slot, adv, c.cfg.PageBytes)
	if err != nil {
		return err
	}
	r := c.message(KindLearn, m.From)
	r.Entries, r.Chosen = page, adv
	c.box.now(r)
	return nil
}

// handleHeartbeat answers with the state of this log, and with the first slot that was sent to it and never came. It
// is no vote: what it says may not be durable.
func (c *Core) handleHeartbeat(m *Message) {
	if m.Ballot.Less(c.promised) {
		c.reject(m)
		return
	}
	c.noteMark(m.From, m.Ballot, m.Chosen)
	c.noteFolded(m.Folded)
	r := c.message(KindHeartbeatReply, m.From)
	r.Ballot, r.Chosen, r.Folded = m.Ballot, c.chosen, c.folded
	r.Slot = c.log.firstLacking(m.Ballot, c.chosen+1, min(m.Through, c.chosen+maxAhead))
	c.box.now(r)
}
