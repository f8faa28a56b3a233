package multipaxos

import "tenure/internal/ballot"

// checkpoints is how far the durable state databases are, here and elsewhere. The log is truncated only below the own
// one; what others say is for people.
type checkpoints struct {
	own     Slot
	members []member
}

// member is another member, voter or not, as it last said it was.
type member struct {
	node                 ballot.NodeID
	chosen, checkpointed Slot
}

// follow makes the members those of r, except self.
func (c *checkpoints) follow(r roster, self ballot.NodeID) {
	old := c.members
	c.members = make([]member, 0, len(r))
	for _, s := range r {
		if s.node == self {
			continue
		}
		m := member{node: s.node}
		for i := range old {
			if old[i].node == s.node {
				m = old[i]
			}
		}
		c.members = append(c.members, m)
	}
}

// heard keeps what a member says of itself.
func (c *checkpoints) heard(from ballot.NodeID, chosen, checkpointed Slot) {
	for i := range c.members {
		if m := &c.members[i]; m.node == from {
			m.chosen, m.checkpointed = max(m.chosen, chosen), max(m.checkpointed, checkpointed)
			return
		}
	}
}
