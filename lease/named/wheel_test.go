package named

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A record is there until its time, and gone two Widths after it, if there was a Sweep every Width; after a pause, with
// the first Sweep. No Sweep looks at more records than it may.
func TestSweepAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testConfig()
		c.Width, c.Linger = 2*ms, rapid.SampledFrom([]time.Duration{0, ms, 50 * ms}).Draw(t, "linger")
		c.Timing.MaxUser = 10 * time.Second
		now := rapid.SampledFrom([]time.Duration{0, 999 * ms, time.Hour}).Draw(t, "begin")
		table := opened(t, c, now)
		due := map[string]time.Duration{} // when a record may go
		for range 60 {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "name")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if _, ok := due[name]; !ok {
					due[name] = now + c.Linger
				}
				table.Handle(now, other, Request{Kind: Prepare, Name: nameOf(name), Counter: 1})
			case 1:
				d := time.Duration(rapid.SampledFrom([]int{1, 2, 7, 100, 1500, 9000}).Draw(t, "length")) * ms
				q := Request{Kind: Accept, Name: nameOf(name), Counter: 1, Acquisition: acquisitionOf("x"),
					Token: table.report(table.record(now, nameOf(name))) + 1, Duration: d}
				if r, _ := table.Handle(now, other, q); r.Kind != Accepted {
					t.Fatalf("%+v", r)
				}
				l, _ := table.Live(now, nameOf(name))
				due[name] = now + l.Left + c.Linger
			case 2:
				q := Request{Kind: Release, Name: nameOf(name), Counter: 1, Acquisition: acquisitionOf("x")}
				if _, live := table.Live(now, nameOf(name)); live {
					due[name] = now + c.Linger
				}
				if table.Handle(now, other, q); table.Records() != len(due) {
					t.Fatalf("%d records, want %d", table.Records(), len(due))
				}
			case 3:
				pause := rapid.SampledFrom([]time.Duration{ms, 2 * ms, 30 * ms, 700 * ms, 3 * time.Second, time.Minute,
					40 * 24 * time.Hour}).Draw(t, "pause")
				sweepAlong(t, table, &now, pause, due)
			}
		}
	})
}

// sweepAlong lets time pass, short pauses with a Sweep every Width and long ones without.
func sweepAlong(t *rapid.T, table *Table, now *time.Duration, pause time.Duration, due map[string]time.Duration) {
	step := pause
	if pause < 100*ms {
		step = min(pause, table.cfg.Width)
	}
	for end := *now + pause; *now < end; {
		*now += step
		for more := true; more; {
			before := table.Records()
			more = table.Sweep(*now, 2)
			if before-table.Records() > 2 {
				t.Fatalf("a Sweep of 2 dropped %d", before-table.Records())
			}
		}
		for name, at := range due {
			gone := table.index.find(&table.slab, nameOf(name)) == none
			if gone && *now < at {
				t.Fatalf("%s went at %v, its time is %v", name, *now, at)
			}
			if !gone && *now >= at+2*table.cfg.Width {
				t.Fatalf("%s is there at %v, its time was %v", name, *now, at)
			}
			if gone {
				delete(due, name)
			}
		}
		if table.Records() != len(due) {
			t.Fatalf("%d records, want %d", table.Records(), len(due))
		}
	}
}

// A Sweep that may not look at all says that more wait.
func TestSweepIsBounded(t *testing.T) {
	table := opened(t, testConfig(), at)
	for i := range 10 {
		table.Handle(at, other, Request{Kind: Prepare, Name: crowded(i), Counter: 1})
	}
	for _, want := range []int{6, 2, 0} {
		if more := table.Sweep(at+2*ms, 4); table.Records() != want || more != (want > 0) {
			t.Errorf("%d records are left, more %v", table.Records(), more)
		}
	}
}
