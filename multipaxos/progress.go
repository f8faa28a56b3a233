package multipaxos

// What the policy above needs in order to judge whether this node gets anywhere (M6). Nothing in this package depends on
// it: no transition of the log does.

// Probe begins a Persist that changes nothing. That it is reported durable tells that the disk answers.
func (c *Core) Probe() { c.persist() }

// Pieces is a count that rises with each piece of the recovery or of the log that another voter has acknowledged to this
// node as leader: a page of a promise, or Accepts.
func (c *Core) Pieces() uint64 { return c.pieces }

// Behind reports whether another voter is known to have truncated slots that this node does not know to be chosen.
func (c *Core) Behind() bool { return c.chosen < c.gone }
