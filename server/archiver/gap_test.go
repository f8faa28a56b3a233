package archiver

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/wire"
)

const (
	gapFrom, gapThrough = 4, 7 // the slots that are truncated before they are archived
	returnsAt           = 8    // the slot that is the newest one when the target is back
)

// gapRun is one way in which an archive goes on after a gap: one operation of the first node on the target fails.
type gapRun struct {
	failAt int  // number of the operation after the target is back
	late   bool // it fails after it had its effect
	takes  bool // a second node takes over then, else the first one goes on
	told   bool // the second node has heard of how far the first one was
}

// run reports whether the operation was reached. So little time passes that no full copy is due by the schedule.
func (g gapRun) run(t *testing.T, c *chosen) bool {
	r := newRelay(t, c, fmt.Sprintf("%+v", g))
	r.place.changed = func(string) {}
	apply := func() {
		r.apply()
		r.elapsed -= 29 * time.Minute
	}
	x := &reach{late: g.late}
	first := r.join(x, 0)
	for r.log.applied < gapFrom-1 {
		apply()
		first.work(r)
	}
	for r.log.applied < returnsAt {
		apply()
	}
	r.log.truncated, first.tail = gapThrough, nil // what it tried meanwhile has failed
	x.failAt = x.operations + g.failAt
	m := first
	for r.log.applied < handoverSlots {
		m.work(r)
		if x.failed && g.takes && m == first {
			m = r.join(&reach{}, 0)
			for slot := uint64(1); slot <= r.log.applied; slot++ { // it was there all the time
				m.moments.Add(slot, slot+1, r.wall(0))
			}
			if g.told {
				m.Told(first.cfg.Self, first.told)
			}
		}
		apply()
	}
	for range 2 { // the operation that fails may be the last one
		m.work(r)
	}
	g.check(r, m)
	return x.failed
}

// check fails the test unless what was before the gap can be restored, and everything from the first full copy after
// it.
func (g gapRun) check(r *relay, m *member) {
	if !m.active || m.told.Slot != handoverSlots || m.told.Stored != handoverSlots {
		r.t.Fatalf("%s: node %d: %+v", r.name, m.cfg.Self, m.told)
	}
	l := archive.List(r.chosen.cluster, names(r.place.list("")))
	after := uint64(handoverSlots)
	for _, f := range l.Fulls {
		if f.Slot > gapThrough {
			after = min(after, f.Slot)
		}
	}
	if after > returnsAt+2 {
		r.t.Fatalf("%s: the first full copy behind the gap is of slot %d: %v", r.name, after, l.Fulls)
	}
	for slot := uint64(1); slot <= handoverSlots; slot++ {
		if err := r.restore(l, slot); err != nil && (slot < gapFrom || slot >= after) {
			r.t.Fatalf("%s: slot %d cannot be restored, full copies %v: %v", r.name, slot, l.Fulls, err)
		}
	}
}

// TestGapAtEveryStep: the target is away until the log was truncated beyond the end of the archive. Once it is back any
// one of its operations fails, and the same node or another one goes on.
func TestGapAtEveryStep(t *testing.T) {
	c := newChosen(t)
	runs, failAt := 0, 1
	for reached := true; reached; failAt++ {
		reached = false
		for mode := range 8 {
			g := gapRun{failAt: failAt, late: mode&1 > 0, takes: mode&2 > 0, told: mode&4 > 0}
			reached = g.run(t, c) || reached
			runs++
		}
	}
	if t.Logf("%d runs", runs); failAt < 20 {
		t.Errorf("only %d operations", failAt)
	}
}

// TestToldOfTheArchive: older progress is not believed, also if a gap made its slot higher. The progress of an archiver
// that continues before a gap is believed.
func TestToldOfTheArchive(t *testing.T) {
	for _, c := range []struct {
		what       string
		known, say wire.Archived
		want       bool
	}{
		{"further", wire.Archived{Slot: 5, Stored: 5}, wire.Archived{Slot: 7, Stored: 7}, true},
		{"earlier", wire.Archived{Slot: 7, Stored: 7}, wire.Archived{Slot: 5, Stored: 5}, false},
		{"earlier, behind a gap", wire.Archived{Slot: 7, Stored: 7}, wire.Archived{Slot: 9, Stored: 5}, false},
		{"before another's gap", wire.Archived{Slot: 9, Stored: 5}, wire.Archived{Slot: 5, Stored: 5}, true},
		{"a release that does not tell", wire.Archived{Slot: 9, Stored: 5}, wire.Archived{Slot: 10}, true},
		{"its earlier word", wire.Archived{Slot: 9, Stored: 5}, wire.Archived{Slot: 8}, false},
	} {
		a := &Archiver{told: c.known, known: true}
		a.Told(2, c.say)
		if got := a.told == c.say; got != c.want {
			t.Errorf("%s: believed: %v", c.what, got)
		}
	}
}

// TestManyHoursAreListedAtOnce: a copy that a clock at 1970 has made costs no half million lists.
func TestManyHoursAreListedAtOnce(t *testing.T) {
	r := &remote{cluster: ident.ClusterID{7}}
	all := archive.LogPrefix(r.cluster)
	for _, c := range []struct {
		from time.Time
		want int
		last string
	}{
		{began.Add(-2 * time.Hour), 3, archive.HourPrefix(r.cluster, began)},
		{time.Unix(0, 0), 1, all},
		{began.Add(time.Hour), 1, all},
	} {
		got := r.prefixes(c.from, began)
		if len(got) != c.want || got[len(got)-1] != c.last {
			t.Errorf("from %v: %d, %q", c.from, len(got), got[len(got)-1])
		}
	}
}
