package multipaxos

import "bytes"

// SetFull tells that the own disk has no space for entries that need as much as least, or more (Config.NeedOf);
// NeedNothing: it has space for all. A full acceptor does not vote for such entries, nor learn them: what it cannot write
// it must not keep in memory only. Promises and what needs less are stored all the same, from the reserve. What was refused
// is learned from the others once there is space again. A leader stores what it recovers and proposes: it is for its owner
// not to propose.
func (c *Core) SetFull(least Need) {
	c.full = least
	c.starved = false
}

// SetShort tells whether space is short: then no tail of the log is kept for slow followers. No member needs it.
func (c *Core) SetShort(short bool) { c.short = short }

// refuses reports whether e is not stored for want of space. An entry that is here already, under whatever ballot, is
// stored again. What waits above a refused entry stays in memory, so that is bounded too.
func (c *Core) refuses(e *Entry) bool {
	if c.full == NeedNothing || c.cfg.NeedOf == nil {
		return false
	}
	r := c.log.at(e.Slot)
	if e.Slot <= c.chosen || r != nil && bytes.Equal(r.Value, e.Value) {
		return false
	}
	return c.cfg.NeedOf(e.Value) >= c.full || c.log.bytes > 2*c.cfg.WindowBytes+c.cfg.CacheBytes
}

// storable is the number of entries before the first one that is refused.
func (c *Core) storable(es []Entry) int {
	for i := range es {
		if c.refuses(&es[i]) {
			return i
		}
	}
	return len(es)
}
