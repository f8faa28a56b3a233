package archive

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNotThere is wrapped by the errors for a requested point or object that the archive lacks.
var ErrNotThere = errors.New("not in the archive")

// At is the point to which a restore leads: a revision, a time or a slot. The zero At is the end of the archive. At
// most one field is set.
type At struct {
	Revision uint64
	Time     time.Time
	Slot     uint64
}

// String returns the point as users write it.
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

// reaches reports whether a full copy, whose state had been reached by some time, is at or before a.
func (a At) reaches(f Full, reached time.Time) bool {
	switch {
	case a.Revision > 0:
		return f.Revision <= a.Revision
	case !a.Time.IsZero():
		return !reached.After(a.Time)
	case a.Slot > 0:
		return f.Slot <= a.Slot
	}
	return true
}

// Plan is what a restore reads: a full copy, and then the segments in order until it reaches At.
type Plan struct {
	At       At
	Full     Full
	Segments []Segment
	// Missing are the slots between the last of Segments and the next segment of the archive; zero if there is no later
	// segment.
	Missing Gap
}

// Gap is a range of slots that an archive lacks, both ends included.
type Gap struct{ First, Last uint64 }

// PlanRestore returns the plan of a restore to at: the newest full copy at or before it, and the segments after that
// which may be needed. Its errors wrap ErrNotThere.
func PlanRestore(l *Listing, at At) (Plan, error) {
	p := Plan{At: at}
	found := false
	reached := l.reached()
	for i, f := range l.Fulls {
		if at.reaches(f, reached[i]) {
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

// reached returns for each full copy the time by which its state had been reached. It is not before the times of
// earlier slots in the archive: the clock of the copying node may have been behind, or set back.
func (l *Listing) reached() []time.Time {
	segments := slices.SortedFunc(slices.Values(l.Segments), func(a, b Segment) int { return cmp.Compare(a.Last, b.Last) })
	var times []time.Time
	var newest time.Time
	for _, f := range l.Fulls {
		for len(segments) > 0 && segments[0].Last <= f.Slot {
			newest = latest(newest, segments[0].Reached)
			segments = segments[1:]
		}
		newest = latest(newest, f.Made)
		times = append(times, newest)
	}
	return times
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// cover returns segments that together have all slots from from on, as far as there are any and a restore to at may
// need them. Of overlapping segments it takes the one that leads furthest.
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

// LeadsTo reports whether a restore from the newest full copy reaches slot: no slot between them is missing.
func (l *Listing) LeadsTo(slot uint64) bool {
	n := len(l.Fulls)
	if n == 0 {
		return false
	}
	reached := l.Fulls[n-1].Slot
	if segments, _ := l.cover(reached+1, At{Slot: slot}); len(segments) > 0 {
		reached = segments[len(segments)-1].Last
	}
	return reached >= slot
}

// Stop returns the last slot of a segment that a restore to p.At applies, and whether the restore ends there. A restore
// to a revision never ends by Stop: only the state knows its revision.
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
