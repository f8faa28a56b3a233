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
	c.jam = jam{}
}

// jam is the slot from which on this acceptor has refused Accepts for want of space while their leader does not know them to be
// chosen.
type jam struct {
	from  Slot // 0: there is none
	ticks int  // since then, up to jamTicks
}

// jamTicks is how long slots must have been refused and not chosen, about a second, before they are stored all the same. A leader
// proposes nothing that needs space once it hears that a majority has none; but what it had proposed before must be chosen, or nothing
// behind it is ever applied, the deletes among it that would make space. So it goes into the reserve.
const jamTicks = 50

// loosen ends the jam once the leader knows its first slot to be chosen.
func (j *jam) loosen(chosen Slot) {
	if j.from <= chosen {
		*j = jam{}
	}
}

// refuse notes a slot that was refused. It is not known to be chosen.
func (j *jam) refuse(slot, chosen Slot) {
	if slot > chosen && (j.from == 0 || slot < j.from) {
		*j = jam{from: slot}
	}
}

func (c *Core) tickJam() {
	if c.jam.from != 0 && c.jam.ticks < jamTicks {
		c.jam.ticks++
	}
}

// jammed reports whether e must be stored lest the log stand still. With no space but for promises nothing is.
func (c *Core) jammed(e *Entry) bool {
	return c.full == NeedSpace && c.jam.from != 0 && c.jam.ticks == jamTicks && e.Slot >= c.jam.from
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
	return c.cfg.NeedOf(e.Value) >= c.full && !c.jammed(e) || c.log.bytes > 2*c.cfg.WindowBytes+c.cfg.CacheBytes
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
