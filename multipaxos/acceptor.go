package multipaxos

import (
	"bytes"
	"fmt"

	"tenure/internal/ballot"
)

// raise makes b the promise. Whoever answers under it waits for promisedSeq.
func (c *Core) raise(b ballot.Ballot) {
	c.promised = b
	p := c.persist()
	p.Promised = b
	c.promisedSeq = p.Seq
	c.see(b)
}

// reject tells the sender of m what is promised instead. It claims nothing that a crash could make false: a promise
// that was never durable was never counted by anybody.
func (c *Core) reject(m *Message) {
	r := c.message(KindReject, m.From)
	r.Ballot, r.Promised = m.Ballot, c.promised
	c.box.now(r)
}

// handlePrepare promises not to take part below m.Ballot, and reports a page of what was accepted. The report waits
// for everything begun so far, so all that it says is durable when it leaves.
func (c *Core) handlePrepare(m *Message) error {
	if m.Ballot.Less(c.promised) {
		c.reject(m)
		return nil
	}
	if c.promised.Less(m.Ballot) {
		c.raise(m.Ballot)
	}
	page, err := c.log.read(m.Slot, c.log.last(), c.cfg.PageBytes)
	if err != nil {
		return err
	}
	r := c.message(KindPromise, m.From)
	r.Ballot, r.Slot, r.Entries = m.Ballot, m.Slot, page
	r.Last = len(page) == 0 || page[len(page)-1].Slot >= c.log.last()
	r.Truncated, r.Chosen, r.Membership = c.log.truncated, c.chosen, membership
	c.box.after(max(c.seq, c.promisedSeq), r)
	return nil
}

// handleAccept votes for a row of slots, if the promise allows it and none of them is truncated; on a full disk for those
// before the first that needs space. For the others there is no answer: the leader asks again until they are chosen.
func (c *Core) handleAccept(m *Message) {
	first, last := m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot
	if m.Ballot.Less(c.promised) || first <= c.log.truncated {
		c.reject(m)
		return
	}
	if last > c.chosen+maxAhead {
		c.ignored++
		c.noteMark(m.From, m.Ballot, m.Chosen)
		return
	}
	c.jam.loosen(m.Chosen)
	entries := m.Entries[:c.storable(m.Entries)]
	if n := len(entries); n < len(m.Entries) {
		c.jam.refuse(m.Entries[n].Slot, m.Chosen)
	}
	if len(entries) == 0 {
		c.noteMark(m.From, m.Ballot, m.Chosen)
		return
	}
	last = entries[len(entries)-1].Slot
	if c.promised.Less(m.Ballot) {
		c.raise(m.Ballot)
	}
	seq := c.promisedSeq
	for i := range entries {
		seq = max(seq, c.accept(entries[i]))
	}
	r := c.message(KindAccepted, m.From)
	r.Ballot, r.Slot, r.Through = m.Ballot, first, last
	r.Chosen, r.Folded = c.chosen, c.folded
	c.box.after(seq, r)
	c.noteMark(m.From, m.Ballot, m.Chosen)
	c.noteFolded(m.Folded)
}

// accept votes for e and tells which Persist makes the vote durable. A vote already given is not written again, and
// neither is a chosen slot: its value cannot change, and the quorum that chose it stands.
//
// Two values for one ballot and slot, or another value under an equal or higher ballot in a chosen slot, cannot come
// of the protocol: rather stop than answer.
func (c *Core) accept(e Entry) uint64 {
	r := c.log.at(e.Slot)
	known := e.Slot <= c.chosen
	switch {
	case r == nil && known: // chosen, durable, and no longer in memory
		return 0
	case r != nil && (known || r.Ballot == e.Ballot):
		if !bytes.Equal(r.Value, e.Value) {
			panic(fmt.Sprintf("multipaxos: slot %d holds a value of %v (chosen: %v), and %v proposes another", e.Slot, r.Ballot, known, e.Ballot))
		}
		return r.seq
	}
	c.store(e)
	return c.seq
}
