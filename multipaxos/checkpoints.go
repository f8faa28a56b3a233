package multipaxos

import "tenure/internal/ballot"

// checkpoints is how far the durable state databases are, here and elsewhere: the log is truncated only below what
// every member has in its own.
type checkpoints struct {
	own     Slot
	all     Slot // of all members, as far as known; it never falls
	members []member
}

// member is another voter as it last said it was.
type member struct {
	node                 ballot.NodeID
	chosen, checkpointed Slot
}

// heard keeps what a member says of itself.
func (c *checkpoints) heard(from ballot.NodeID, chosen, checkpointed Slot) {
	for i := range c.members {
		if m := &c.members[i]; m.node == from {
			m.chosen = max(m.chosen, chosen)
			if checkpointed > m.checkpointed {
				m.checkpointed = checkpointed
				c.gather()
			}
			return
		}
	}
}

// reached is told that the own state database holds everything through slot s.
func (c *checkpoints) reached(s Slot) {
	c.own = max(c.own, s)
	c.gather()
}

// gather takes the minimum over all members. No state database ever goes back, so neither does the minimum.
func (c *checkpoints) gather() {
	all := c.own
	for i := range c.members {
		all = min(all, c.members[i].checkpointed)
	}
	c.noteAll(all)
}

// noteAll is told by a leader what all members have in their state databases.
func (c *checkpoints) noteAll(all Slot) { c.all = max(c.all, all) }

// truncatable returns the slot through which no member needs the log. It is never above the own checkpoint, whatever a
// leader says: a promise must not be truncated at a slot that another member still needs, and none needs what is in its
// state database.
func (c *checkpoints) truncatable() Slot { return min(c.all, c.own) }
