package multipaxos

import "bytes"

// space is what this node was told of the space on its disk.
type space struct {
	full  Need // see Core.SetSpace
	short bool // the same
	jam   jam
}

// jam is the slot from which on this acceptor has refused Accepts for want of space while their leader does not know
// them to be chosen.
type jam struct {
	from  Slot // 0: there is none
	ticks int  // since then, up to jamTicks
}

// jamTicks is how long slots must have been refused and not chosen, about a second, before they are stored all the
// same. Once a leader hears that a majority has no space, it proposes nothing more that needs space. But its earlier
// proposals must be chosen, or no later entry is ever applied, not even the deletes that would make space. So they go
// into the reserve.
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

func (j *jam) tick() {
	if j.from != 0 && j.ticks < jamTicks {
		j.ticks++
	}
}

// holds reports whether the entry of slot must be stored lest the log stand still.
func (j *jam) holds(slot Slot) bool { return j.from != 0 && j.ticks == jamTicks && slot >= j.from }

// refuses reports whether an entry of this slot and need is not stored. With no space but for promises, not even a jam
// makes an exception.
func (s *space) refuses(slot Slot, need Need) bool {
	return need >= s.full && (s.full != NeedSpace || !s.jam.holds(slot))
}

// refuses reports whether e is not stored for want of space. An entry that is here already, under whatever ballot, is
// stored again. Entries above a refused one stay in memory, so their bytes are bounded too.
func (a *acceptor) refuses(e *Entry) bool {
	if a.space.full == NeedNothing || a.cfg.NeedOf == nil {
		return false
	}
	r := a.log.at(e.Slot)
	if e.Slot <= a.chosen || r != nil && bytes.Equal(r.Value, e.Value) {
		return false
	}
	return a.space.refuses(e.Slot, a.cfg.NeedOf(e.Value)) || a.log.bytes > 2*a.cfg.WindowBytes+a.cfg.CacheBytes
}

// storable returns the number of entries before the first one that is refused.
func (a *acceptor) storable(es []Entry) int {
	for i := range es {
		if a.refuses(&es[i]) {
			return i
		}
	}
	return len(es)
}
