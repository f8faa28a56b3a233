package archive

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotThere is wrapped by errors that say that an archive does not have what is asked for.
var ErrNotThere = errors.New("not in the archive")

// At is what a restore goes to: a revision, a time, a slot, or, with none of them, the end of the archive.
type At struct {
	Revision uint64
	Time     time.Time
	Slot     uint64
}

// String returns at as people write it.
func (a At) String() string {
	switch {
	case a.Revision > 0:
		return fmt.Sprintf("revision %d", a.Revision)
	case !a.Time.IsZero():
		return a.Time.UTC().Format(time.RFC3339Nano)
	case a.Slot > 0:
		return fmt.Sprintf("slot %d", a.Slot)
	}
	return "the end"
}

// reaches reports whether a full copy is at or below a.
func (a At) reaches(f Full) bool {
	switch {
	case a.Revision > 0:
		return f.Revision <= a.Revision
	case !a.Time.IsZero():
		return !f.Made.After(a.Time)
	case a.Slot > 0:
		return f.Slot <= a.Slot
	}
	return true
}

// Plan is what a restore reads: a full copy, and then, one after the other, the segments, until it is where it goes to.
type Plan struct {
	At       At
	Full     Full
	Segments []Segment
	// Missing are the slots that no segment has, where the segments break off although there are later ones; 0 if there
	// is no later one.
	Missing Gap
}

// Gap is slots that an archive lacks.
type Gap struct{ First, Last uint64 }

// PlanRestore returns what a restore to at reads: the newest full copy at or below it, and as many segments after that
// as may be needed. An error wraps ErrNotThere.
func PlanRestore(l *Listing, at At) (Plan, error) {
	p := Plan{At: at}
	found := false
	for _, f := range l.Fulls {
		if at.reaches(f) {
			p.Full, found = f, true
		}
	}
	switch {
	case len(l.Fulls) == 0:
		return p, fmt.Errorf("%w: there is no full copy of cluster %s yet", ErrNotThere, l.Cluster)
	case !found:
		oldest := l.Fulls[0]
		return p, fmt.Errorf("%w: %s is before its oldest full copy, which is of revision %d and %s", ErrNotThere, at,
			oldest.Revision, oldest.Made.UTC().Format(time.RFC3339))
	}
	p.Segments, p.Missing = l.cover(p.Full.Slot+1, at)
	return p, nil
}

// cover returns segments that have all slots from one on, as far as there are any and at may need them. Of those that
// overlap it takes the one that leads furthest.
func (l *Listing) cover(from uint64, at At) (out []Segment, missing Gap) {
	i := 0
	for {
		var best Segment
		for ; i < len(l.Segments) && l.Segments[i].First <= from; i++ {
			if s := l.Segments[i]; s.Last >= from && s.Last > best.Last {
				best = s
			}
		}
		if best.Last == 0 {
			break
		}
		out = append(out, best)
		from = best.Last + 1
		if at.Slot > 0 && best.Last >= at.Slot || !at.Time.IsZero() && best.Reached.After(at.Time) {
			return out, Gap{}
		}
	}
	if i < len(l.Segments) {
		missing = Gap{First: from, Last: l.Segments[i].First - 1}
	}
	return out, missing
}

// Stop returns the last slot of a segment that a restore to p.At applies, and false if it is beyond the segment. A
// revision is not looked for here: only the state knows it.
func (p *Plan) Stop(c *Content) (last uint64, here bool) {
	switch {
	case p.At.Slot > 0 && p.At.Slot <= c.Last:
		return p.At.Slot, true
	case !p.At.Time.IsZero():
		last = c.First - 1
		for _, m := range c.Moments {
			if m.TimeMS > p.At.Time.UnixMilli() {
				return last, true
			}
			last = m.Slot
		}
	}
	return c.Last, false
}
