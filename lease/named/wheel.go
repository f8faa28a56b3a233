package named

import (
	"slices"
	"time"
)

// wheel finds the records whose lease has ended without a timer for each: places of equal width in time, each a list of
// records. A record is looked at when its place is due, and if its lease was renewed meanwhile it moves on; so a
// renewal costs nothing here. No rule depends on when that happens: whether a lease lives is asked of its record.
type wheel struct {
	width time.Duration
	heads []uint32 // first record of each place, or none
	done  int64    // places before this one are empty
}

// wheelPlaces: what ends later than the wheel reaches is looked at once a turn.
const wheelPlaces = 512

func newWheel(width time.Duration, now time.Duration) wheel {
	w := wheel{width: width, heads: make([]uint32, wheelPlaces), done: int64(now / width)}
	for i := range w.heads {
		w.heads[i] = none
	}
	return w
}

func (w *wheel) clone() wheel {
	c := *w
	c.heads = slices.Clone(w.heads)
	return c
}

// place is where a record goes that is to be looked at when at has passed.
func (w *wheel) place(at time.Duration) int64 {
	return min(max(int64(at/w.width), w.done), w.done+wheelPlaces-1)
}

// headMark in a record's prev tells that it is the first of the place in the other bits.
const headMark = 1 << 31

// link puts record i, which is in no place, where it is looked at once at has passed.
func (w *wheel) link(s *slab, i uint32, at time.Duration) {
	place := uint32(w.place(at) % wheelPlaces)
	head := &w.heads[place]
	r := s.at(i)
	r.prev, r.next = headMark|place, *head
	if *head != none {
		s.at(*head).prev = i
	}
	*head = i
}

// unlink takes record i out of its place.
func (w *wheel) unlink(s *slab, i uint32) {
	r := s.at(i)
	if r.next != none {
		s.at(r.next).prev = r.prev
	}
	if r.prev&headMark != 0 {
		w.heads[r.prev&^headMark] = r.next
		return
	}
	s.at(r.prev).next = r.next
}

// due is the first record of the places that have passed at now, or none.
func (w *wheel) due(now time.Duration) uint32 {
	for end := int64(now / w.width); w.done < end; w.done++ {
		if i := w.heads[w.done%wheelPlaces]; i != none {
			return i
		}
		if w.done+wheelPlaces < end { // nothing was linked further ahead than one turn
			w.skip(end)
		}
	}
	return none
}

// skip saves a walk over many empty places after a long pause: what is in any place now is due.
func (w *wheel) skip(end int64) {
	for p := w.done; p < w.done+wheelPlaces; p++ {
		if w.heads[p%wheelPlaces] != none {
			w.done = p - 1 // the loop in due goes on from p
			return
		}
	}
	w.done = end - 1
}
