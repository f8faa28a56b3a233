package sim

import (
	"slices"
	"time"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// logCheck checks one process' log part: the slots that it calls chosen and applies, its claims about its disk when it
// sends a message, and its writes when it has no space.
type logCheck struct {
	*drive
	masters    *masters
	core       *multipaxos.Core
	state      *kv.State
	checked    multipaxos.Slot            // chosen slots up to this one are in the ledger
	confirmed  *multipaxos.Message        // the first message of the newest output that noteConfirmed has looked at
	led        bool                       // this round the node led, for a part at least
	told       replica.Space              // the space that the log part was told of this round
	accepts    []accept                   // that the log part was given this round
	anyApplied func(multipaxos.Slot) bool // whether any running node has applied a slot
}

// check compares the marks of the log part; it is called after every step that can move them.
func (c *logCheck) check() {
	if c.core.Chosen() > c.checked {
		c.watch()
	}
	if s := multipaxos.Slot(c.state.Applied()); s > c.core.Chosen() {
		c.fail("applied ⊆ chosen", "node %d applied slot %d, and knows slots chosen up to %d", c.id, s, c.core.Chosen())
	}
}

// watch takes note of the slots that the node newly calls chosen.
func (c *logCheck) watch() {
	for chosen := c.core.Chosen(); c.checked < chosen; {
		c.checked = max(c.checked, c.core.Truncated())
		if c.checked >= chosen {
			return
		}
		rot := c.rotSlot
		c.rotSlot = 0 // who reads here is not the node
		entries, err := c.core.ChosenEntries(c.checked+1, 1<<20)
		c.rotSlot = rot
		if err != nil {
			c.fail("error", "node %d: %v", c.id, err)
		}
		for i := range entries {
			e := &entries[i]
			if e.Slot != c.checked+1 {
				c.fail("applied ⊆ chosen", "node %d shows slot %d where the chosen slot %d must be", c.id, e.Slot,
					c.checked+1)
			}
			c.checked++
			c.ledger.choose(c.machine, e)
		}
	}
}

// digestEvery is how many slots lie between two digests: a digest reads the whole state.
const digestEvery = 16

// applied checks the state after Apply: after equal slots all nodes are at equal revisions, and equal throughout.
func (c *logCheck) applied() {
	c.check()
	s := c.state.Applied()
	c.ledger.compareRevision(c.machine, s, c.state.Revision())
	if s%digestEvery == 0 {
		c.compareDigest()
	}
}

// compareDigest compares the whole state with that of other nodes after the same slot.
func (c *logCheck) compareDigest() {
	s := c.state.Applied()
	if s == 0 || c.rotStateDB || c.plan.on(Differ) && c.differs() {
		return
	}
	sum, err := c.state.Digest()
	if err != nil {
		c.fail("error", "node %d: %v", c.id, err)
	}
	c.ledger.compareDigest(c.machine, s, sum)
}

// sent checks a message of the log as it leaves: what it says of this node's disk must be durable by now. The ledger
// remembers what was ever durable, since a newer vote may have replaced an entry while the message waited.
func (c *logCheck) sent(m *multipaxos.Message) {
	switch m.Kind {
	case multipaxos.KindPrepare:
		c.mustHavePromised(m)
	case multipaxos.KindAccept:
		c.mustHavePromised(m)
		for i := range m.Entries {
			c.ledger.checkProposal(c.machine, &m.Entries[i])
			c.ledger.ballot(&m.Entries[i])
		}
	case multipaxos.KindPromise:
		c.mustHavePromised(m)
		for i := range m.Entries {
			if e := &m.Entries[i]; !c.ledger.hasVoted(c.machine, e.Slot, e.Ballot) {
				c.fail("promise before reply", "node %d reports slot %d under %v, and that was never durable", c.id,
					e.Slot, e.Ballot)
			}
		}
	case multipaxos.KindAccepted:
		c.mustHavePromised(m)
		for s := m.Slot; s <= m.Through; s++ {
			if s > c.checkpointed() && !c.ledger.hasVoted(c.machine, s, m.Ballot) {
				c.fail("accept before reply", "node %d says that it accepted slot %d under %v, and that is not durable",
					c.id, s, m.Ballot)
			}
		}
	}
}

func (c *logCheck) mustHavePromised(m *multipaxos.Message) {
	if c.marks.Promised.Less(m.Ballot) {
		c.fail("promise before reply", "node %d sends %s, and its disk holds only the promise %v", c.id, describe(m),
			c.marks.Promised)
	}
}

// noteConfirmed looks at the messages that confirm a leader when their output is made: a promise that this node makes
// before they leave does not invalidate them.
func (c *logCheck) noteConfirmed(ms []multipaxos.Message) {
	if len(ms) == 0 || c.confirmed == &ms[0] {
		return
	}
	c.confirmed = &ms[0]
	for i := range ms {
		m := &ms[i]
		if m.Kind != multipaxos.KindConfirmed {
			continue
		}
		if c.marks.Promised.Compare(m.Ballot) > 0 {
			c.fail("confirmed under a higher promise", "node %d confirms %v and has promised %v", c.id, m.Ballot,
				c.marks.Promised)
		}
		c.masters.confirm(m.To, c.id, m.Ballot)
	}
}

// writes checks the writes of a round: a member that does not lead writes no entry that needs more space than it has.
// An entry that it holds already it may write again.
func (c *logCheck) writes(ps []multipaxos.Persist) {
	least := multipaxos.NeedSpace
	switch {
	case c.led || c.told == replica.SpaceEnough || c.told == replica.SpaceLow:
		return
	case c.told == replica.SpaceNone:
		least = multipaxos.NeedReserve
	}
	for i := range ps {
		for _, e := range ps[i].Entries {
			if replica.NeedOf(e.Value) >= least && e.Ballot.Node != c.id && !c.holds(e) && !c.mayJam(e.Slot) {
				c.fail("full disk", "node %d has no space and writes slot %d, %d bytes", c.id, e.Slot, len(e.Value))
			}
		}
	}
}

// accept is an Accept that a round takes.
type accept struct {
	first, last multipaxos.Slot
	sent        time.Duration
}

// took takes an event that the log part is given.
func (c *logCheck) took(e *input) {
	if m := e.log; m != nil && m.Kind == multipaxos.KindAccept {
		c.accepts = append(c.accepts, accept{m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot, e.sent})
	}
}

// mayJam reports whether the member may store slot without space for it: no running node has applied the slot, so the
// log may stand still otherwise. Or none had when the Accept was sent: it may have been on its way for long.
func (c *logCheck) mayJam(slot multipaxos.Slot) bool {
	return c.told == replica.SpaceTight && (!c.anyApplied(slot) || slices.ContainsFunc(c.accepts, func(a accept) bool {
		return a.first <= slot && slot <= a.last && a.sent <= c.ledger.applied[slot-1]
	}))
}
