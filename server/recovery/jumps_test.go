package recovery

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"
	"time"

	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
)

// jumped reports whether a state begins at a date of today.
func jumped(s *kv.State) bool {
	at, err := startsAt(time.Now().Add(-time.Hour), starts{})
	return err == nil && s.Applied() > at.slot && s.Revision() > at.revision && s.Eras() > at.era
}

// The later of two clusters is above the earlier one, however far that has grown, and even if the later one comes from
// an older backup. A cluster made by a slow clock is above the state it was made of.
func TestLaterClustersBeginAboveEarlierOnes(t *testing.T) {
	day := time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)
	grown := func(s starts, d time.Duration) starts { // by what a busy cluster does
		return starts{s.slot + uint64(d.Seconds())*100_000, s.revision + uint64(d.Seconds())*1_000_000,
			s.era + uint64(d.Seconds())}
	}
	above := func(a, b starts) bool { return a.slot > b.slot && a.revision > b.revision && a.era > b.era }
	original := starts{1 << 30, 1 << 33, 1000}
	for _, x := range []struct {
		name     string
		of, then starts
		apart    time.Duration
	}{
		{"twice the same", original, original, time.Second},
		{"an older backup", original, starts{1, 1, 1}, time.Second},
		{"a day later", original, starts{1, 1, 1}, 24 * time.Hour},
	} {
		one, err := startsAt(day, x.of)
		two, err2 := startsAt(day.Add(x.apart), x.then)
		if err != nil || err2 != nil || !above(one, x.of) || !above(two, grown(one, x.apart)) {
			t.Errorf("%s: %+v and %+v: %v, %v", x.name, one, two, err, err2)
		}
		three, err := startsAt(day.Add(2*x.apart), grown(two, x.apart)) // of a cluster that was itself made so
		if err != nil || !above(three, grown(two, x.apart)) {
			t.Errorf("%s: %+v and %+v: %v", x.name, two, three, err)
		}
	}
	for _, wrong := range []time.Time{{}, time.Unix(0, 0), day.Add(-24 * time.Hour)} {
		one, _ := startsAt(day, original)
		two, err := startsAt(wrong, one)
		if err != nil || two.slot != one.slot+jumpSlots || two.revision != one.revision+jumpRevisions ||
			two.era != one.era+jumpEras {
			t.Errorf("by a clock at %v: %+v of %+v: %v", wrong, two, one, err)
		}
	}
	if s, err := startsAt(time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC), original); err != nil || s.revision >= 1<<53 {
		t.Errorf("in 2090: %+v, %v", s, err)
	}
	if _, err := startsAt(day, starts{1, 1, math.MaxUint32 - 5}); err == nil {
		t.Error("eras wrap")
	}
}

func TestUntilNextEra(t *testing.T) {
	made := sinceYear.Add(10*eraEvery + 100*time.Millisecond)
	for after, want := range map[time.Duration]time.Duration{
		0: 400 * time.Millisecond, 300 * time.Millisecond: 100 * time.Millisecond, time.Second: 0, -time.Hour: eraEvery,
	} {
		if got := untilNextEra(made, made.Add(after)); got != want {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}

// Two restores of one backup are two clusters that may meet the same clients.
func TestTwoRestoresOfOneBackup(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	b := w.backup(w.make(2, log{state: 4, chosen: 4, entries: []string{"-", "a=1@once", "era", "b=2"}}))
	var before *kv.State
	for _, name := range []string{"first", "second"} {
		r, _, err := Restore(bytes.NewReader(b), filepath.Join(w.dir, name))
		w.must(err)
		_, state, _ := w.result(r)
		if before != nil && (state.Eras() <= before.Eras() || state.Revision() <= before.Revision() ||
			state.Applied() <= before.Applied()) {
			t.Errorf("first era %d, revision %d, slot %d; second %d, %d, %d", before.Eras(), before.Revision(),
				before.Applied(), state.Eras(), state.Revision(), state.Applied())
		}
		before = state
	}
}

// A4: a cluster that is made of a backup keeps silent for the longest lease that the old one allowed.
func TestA4ARestoreKeepsTheSilenceOfTheOldCluster(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	b := w.backup(w.make(2, log{state: 2, chosen: 2, longest: time.Hour, entries: []string{"a=1", "b=2"}}))
	r, _, err := Restore(bytes.NewReader(b), filepath.Join(w.dir, "new"))
	w.must(err)
	s, _, _ := w.result(r)
	is := s.StartRecord()
	timing := lease.Timing{MaxMaster: time.Second, MaxUser: 30 * time.Second, DriftPPM: 10_000, Margin: 10 * time.Millisecond}
	plan, err := named.PlanBucket(named.Bucket{Length: is.Bucket, Quarantine: is.Quarantine.User}, timing, false)
	w.must(err)
	if plan.Silence < time.Hour {
		t.Errorf("it is silent for %v", plan.Silence)
	}
}
