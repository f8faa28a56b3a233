package multipaxos

import "tenure/internal/ballot"

// Advertise tells one peer at once how far the log is, if it has not been told: reads wait there for it.
func (c *Core) Advertise(id ballot.NodeID) {
	if p := c.peer(id); c.phase == Leading && p != nil && p.toldChosen != c.advertised() {
		c.heartbeat(p)
	}
}
