package archiver

import (
	"context"
	"testing"
	"time"

	"tenure/server/archive"
)

// A full copy made by a clock that is behind, or was set back, does not count for a time before its state was reached,
// neither by the date in its name nor in the plan of a restore.
func TestTimesOfFullCopiesDoNotFallBack(t *testing.T) {
	for _, sameNode := range []bool{true, false} {
		c := newChosen(t)
		r := newRelay(t, c, "times")
		r.place.changed = func(string) {}
		a := r.join(&reach{}, 0)
		shift := time.Duration(0)
		if sameNode {
			a.now = func() time.Time { return r.wall(shift) }
		}
		reached := map[uint64]time.Time{}
		apply := func() {
			r.elapsed += time.Second
			r.log.applied++
			for _, m := range r.archives {
				m.moments.Add(r.log.applied, r.log.applied+1, m.now())
			}
			reached[r.log.applied] = r.wall(0)
		}
		for r.log.applied < 9 {
			apply()
			a.attempt(r)
		}
		b := a
		if sameNode {
			shift = -30 * time.Second
		} else {
			b = r.join(&reach{}, -30*time.Second)
			for slot := uint64(1); slot <= 9; slot++ {
				b.moments.Add(slot, slot+1, reached[slot].Add(-30*time.Second))
			}
			b.Told(a.cfg.Self, a.told)
		}
		apply()
		for range 2 {
			_ = b.shipOnce(context.Background()) // it may have to find the end of the archive first
			r.elapsed += 2 * time.Second
		}
		if err := b.full(context.Background(), &b.copyState); err != nil {
			t.Fatal(err)
		}
		l := archive.List(c.cluster, names(r.place.list("")))
		for slot := uint64(1); slot < 9; slot++ { // slot 10 has the time of slot 9
			p, err := archive.PlanRestore(&l, archive.At{Time: reached[slot]})
			if err == nil && p.Full.Slot > slot {
				t.Errorf("one node %v: a restore to when slot %d was the newest takes the full copy of slot %d", sameNode, slot,
					p.Full.Slot)
			}
		}
		if f := l.Fulls[len(l.Fulls)-1]; f.Made.Before(reached[9]) {
			t.Errorf("one node %v: the full copy of slot %d is of %v, and slot 9 was reached at %v", sameNode, f.Slot, f.Made,
				reached[9])
		}
	}
}

// While all times in the archive are far ahead of the clock, since that of another node was, a full copy is made as
// often as it should be and not all the time.
func TestFullCopiesWhileTheArchiveIsAhead(t *testing.T) {
	a := &Archiver{}
	a.cfg.Schedule.FullEvery = time.Hour
	now := time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)
	c := &copyState{list: archive.Listing{Fulls: []archive.Full{{Slot: 5, Made: now.Add(365 * 24 * time.Hour)}}}}
	if !a.fullDue(c, now) {
		t.Error("none is made at all")
	}
	c.made = now
	if a.fullDue(c, now.Add(time.Minute)) {
		t.Error("one is made each minute")
	}
	if !a.fullDue(c, now.Add(time.Hour)) {
		t.Error("none is made after an hour")
	}
}
