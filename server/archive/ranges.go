package archive

import "time"

// Range is a run of slots that an archive can restore.
type Range struct {
	First   Full // the full copy with which it begins
	Last    uint64
	Reached time.Time // the state after Last had been reached by then
	// End is the segment that ends with Last; zero if no segment leads beyond the newest full copy.
	End             Segment
	Fulls, Segments int // how many objects it takes
}

// Ranges returns what l leads to, by rising slots. What lies between two ranges cannot be restored.
func (l *Listing) Ranges() (all []Range) {
	reached := l.reached()
	for i, f := range l.Fulls {
		r := Range{First: f, Last: f.Slot, Reached: reached[i], Fulls: 1}
		from := f.Slot + 1
		var before *Range // that this one continues
		if n := len(all); n > 0 && f.Slot <= all[n-1].Last+1 {
			before = &all[n-1]
			from = max(from, before.Last+1)
		}
		segments, _ := l.cover(from, At{})
		if n := len(segments); n > 0 {
			r.End, r.Segments = segments[n-1], n
			r.Last, r.Reached = r.End.Last, r.End.Reached
		}
		switch {
		case before == nil:
			all = append(all, r)
		case r.Last > before.Last:
			before.Last, before.Reached, before.End = r.Last, r.Reached, r.End
			fallthrough
		default:
			before.Fulls, before.Segments = before.Fulls+1, before.Segments+r.Segments
		}
	}
	return all
}

// GapAfter returns the slots between r and the next range, which begins with a full copy of its own.
func (r Range) GapAfter(next Range) Gap { return Gap{First: r.Last + 1, Last: next.First.Slot - 1} }

// Newest returns the time by which the newest state that l leads to had been reached, zero if it leads to none.
func (l *Listing) Newest() (at time.Time) {
	for _, r := range l.Ranges() {
		at = r.Reached
	}
	return at
}
