package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/ident"
)

func at(seconds int) time.Time { return base.Add(time.Duration(seconds) * time.Second) }

// full is a full copy of a slot with revision 10·slot, made when the slot was applied.
func full(slot int) Full {
	return Full{Slot: uint64(slot), Revision: uint64(10 * slot), Made: at(slot), Node: 1}
}

// named is a segment that was reached when its last slot was applied.
func named(first, last int) Segment {
	return Segment{First: uint64(first), Last: uint64(last), Reached: at(last)}
}

func listingOf(fulls []int, segments ...[2]int) Listing {
	l := Listing{Cluster: cluster}
	for _, s := range fulls {
		l.Fulls = append(l.Fulls, full(s))
	}
	for _, s := range segments {
		l.Segments = append(l.Segments, named(s[0], s[1]))
	}
	slices.SortFunc(l.Segments, compareSegments)
	return l
}

// text returns a plan as "full: first-last first-last ! missing".
func (p Plan) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", p.Full.Slot)
	for _, s := range p.Segments {
		fmt.Fprintf(&b, " %d-%d", s.First, s.Last)
	}
	if p.Missing.First > 0 {
		fmt.Fprintf(&b, " ! %d-%d", p.Missing.First, p.Missing.Last)
	}
	return b.String()
}

func TestPlanRestore(t *testing.T) {
	end := At{}
	for _, c := range []struct {
		what string
		l    Listing
		at   At
		want string // or what the error says
	}{
		{"nothing", listingOf(nil, [2]int{1, 5}), end, "no full copy"},
		{"a full copy alone", listingOf([]int{5}), end, "5:"},
		{"segments before it", listingOf([]int{5}, [2]int{1, 4}, [2]int{5, 9}, [2]int{10, 10}), end, "5: 5-9 10-10"},
		{"the newest full copy", listingOf([]int{5, 20}, [2]int{6, 30}), end, "20: 6-30"},
		{"at a revision, the one below", listingOf([]int{5, 20}, [2]int{6, 30}), At{Revision: 199}, "5: 6-30"},
		{"at its revision", listingOf([]int{5, 20}, [2]int{6, 30}), At{Revision: 200}, "20: 6-30"},
		{"before all", listingOf([]int{5, 20}), At{Revision: 49}, "before its oldest full copy, which is of revision " +
			"50"},
		{"a time before all", listingOf([]int{5}), At{Time: at(4)}, "before its oldest full copy"},
		{"overlaps: what leads furthest", listingOf([]int{1}, [2]int{2, 4}, [2]int{2, 9}, [2]int{3, 12}, [2]int{10, 11},
			[2]int{12, 13}), end, "1: 2-9 3-12 12-13"},
		{"a gap", listingOf([]int{1}, [2]int{2, 4}, [2]int{7, 9}, [2]int{10, 11}), end, "1: 2-4 ! 5-6"},
		{"a gap at once", listingOf([]int{1}, [2]int{7, 9}), end, "1: ! 2-6"},
		{"a gap before a newer full copy", listingOf([]int{1, 8}, [2]int{2, 4}, [2]int{7, 9}), end, "8: 7-9"},
		{"up to a time", listingOf([]int{1}, [2]int{2, 4}, [2]int{5, 8}, [2]int{9, 12}, [2]int{20, 21}),
			At{Time: at(7)}, "1: 2-4 5-8"},
		{"up to a slot", listingOf([]int{1}, [2]int{2, 4}, [2]int{5, 8}, [2]int{9, 12}), At{Slot: 8}, "1: 2-4 5-8"},
	} {
		p, err := PlanRestore(&c.l, c.at)
		got := p.text()
		if err != nil {
			got = err.Error()
		}
		if err != nil && !errors.Is(err, ErrNotThere) || got != c.want &&
			(err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// The date of a full copy counts only if nothing before it is later.
func TestFullCopiesOfAClockThatWasSetBack(t *testing.T) {
	l := listingOf([]int{1, 5, 9}, [2]int{2, 4}, [2]int{5, 8}, [2]int{9, 12})
	l.Fulls[1].Made, l.Fulls[2].Made = at(1), at(3)
	for second, want := range map[int]uint64{1: 1, 3: 1, 4: 5, 7: 5, 8: 9, 12: 9} {
		if p, err := PlanRestore(&l, At{Time: at(second)}); err != nil || p.Full.Slot != want {
			t.Errorf("second %d: full copy of slot %d, %v; want %d", second, p.Full.Slot, err, want)
		}
	}
}

// TestPlansCoverWhatIsThere cuts a log at random, several times over, and drops some of the segments.
func TestPlansCoverWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const last = 40
		var segments [][2]int
		has := [last + 2]bool{}
		for range 3 {
			for first := rapid.IntRange(1, 5).Draw(t, "begins"); first <= last; {
				to := min(last, first+rapid.IntRange(0, 9).Draw(t, "more"))
				if rapid.IntRange(0, 3).Draw(t, "dropped") > 0 {
					segments = append(segments, [2]int{first, to})
					for s := first; s <= to; s++ {
						has[s] = true
					}
				}
				first = to + 1
			}
		}
		from := rapid.IntRange(0, last).Draw(t, "full")
		l := listingOf([]int{from}, segments...)
		p, err := PlanRestore(&l, At{})
		if err != nil {
			t.Fatal(err)
		}
		reached := from
		for _, s := range p.Segments {
			if int(s.First) > reached+1 || int(s.Last) <= reached {
				t.Fatalf("%s of %v", p.text(), segments)
			}
			reached = int(s.Last)
		}
		if has[reached+1] {
			t.Fatalf("%s of %v ends too early", p.text(), segments)
		}
		later := slices.Index(has[reached+1:], true)
		if (later < 0) != (p.Missing == Gap{}) || later > 0 &&
			p.Missing != (Gap{uint64(reached + 1), uint64(reached + later)}) {
			t.Fatalf("%s of %v: %d slots are missing", p.text(), segments, later)
		}
	})
}

func TestNamesAreReadAsTheyWereWritten(t *testing.T) {
	f := Full{Slot: 1 << 60, Revision: 12, Made: base, Node: 65535}
	v := Verified{Full: f, Through: 9, When: at(5)}
	s := Segment{First: 3, Last: 1 << 50, Reached: at(7), After: Chain{1, 2}, Hash: [hashBytes]byte{9}}
	good := []string{f.Name(cluster), v.Name(cluster), s.Name(cluster)}
	names := slices.Concat(good, []string{Marker(cluster), "", "x", Prefix(cluster), FullPrefix(cluster),
		f.Name(ident.ClusterID{8})})
	for _, name := range good {
		names = append(names, name+"0", name[:len(name)-1], name+"-1", name+".partial",
			strings.Replace(name, "-", "--", 1),
			strings.ToUpper(name), strings.Replace(name, "0", "+", 1))
	}
	names = append(names, Segment{First: 5, Last: 4}.Name(cluster),
		Segment{First: 0, Last: 4, Reached: base}.Name(cluster))
	l := List(cluster, names)
	// One digit more or less of a node, which has no fixed number of digits, is the name of another copy.
	if len(l.Segments) != 1 || l.Segments[0] != s || !slices.Contains(l.Fulls, f) || !slices.Contains(l.Verified, v) ||
		len(l.Fulls) > 3 || len(l.Verified) != 1 {
		t.Errorf("%+v", l)
	}
	if c := Clusters(names); !slices.Equal(c, []ident.ClusterID{cluster, {8}}) {
		t.Errorf("%v", c)
	}
	for _, name := range good {
		for _, element := range strings.Split(name, "/") {
			if len(element) > 180 {
				t.Errorf("%s is too long for a target", element)
			}
		}
	}
}

func TestStop(t *testing.T) {
	name, b := segment(t, 5, 9)
	c, err := ReadSegment(cluster, name, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		at   At
		last uint64
		here bool
	}{
		{At{}, 9, false}, {At{Revision: 60}, 9, false}, {At{Slot: 7}, 7, true}, {At{Slot: 9}, 9, true},
		{At{Slot: 10}, 9, false},
		{At{Time: at(4)}, 4, true}, {At{Time: at(5)}, 5, true}, {At{Time: at(7).Add(time.Millisecond)}, 7, true},
		{At{Time: at(9)}, 9, false}, {At{Time: at(8).Add(-time.Millisecond)}, 7, true},
	} {
		p := Plan{At: x.at}
		if last, here := p.Stop(&c); last != x.last || here != x.here {
			t.Errorf("%s: slot %d, %v", x.at, last, here)
		}
	}
}

func TestResume(t *testing.T) {
	end := named(5, 9)
	end.After = chainAt(9)
	whole := listingOf([]int{4})
	whole.Segments = []Segment{end}
	copyOnly, empty := listingOf([]int{4}), listingOf(nil)
	newer := listingOf([]int{4, 20})
	newer.Segments = whole.Segments
	for _, c := range []struct {
		what      string
		l         Listing
		truncated uint64
		want      Resumed
	}{
		{"behind the last segment", whole, 9, Resumed{First: 10, Before: chainAt(9), Reached: at(9)}},
		{"the log was truncated", whole, 10, Resumed{First: 31, Before: BeginChain(cluster, 31), Reached: at(9),
			New: true, Gap: Gap{10, 30}}},
		{"behind a full copy", copyOnly, 4,
			Resumed{First: 5, Before: BeginChain(cluster, 5), Reached: at(4), New: true}},
		{"truncated behind it", copyOnly, 5, Resumed{First: 31, Before: BeginChain(cluster, 31), Reached: at(4),
			New: true, Gap: Gap{5, 30}}},
		{"truncated behind the last segment, and a newer full copy is there", newer, 19, Resumed{First: 21,
			Before: BeginChain(cluster, 21), Reached: at(9), New: true, Gap: Gap{10, 20}}},
		{"and behind the full copy", newer, 21, Resumed{First: 31, Before: BeginChain(cluster, 31), Reached: at(9),
			New: true, Gap: Gap{10, 30}}},
		{"an empty one", empty, 0, Resumed{First: 31, Before: BeginChain(cluster, 31), New: true}},
	} {
		if got := Resume(&c.l, c.truncated, 30); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

func TestLeadsTo(t *testing.T) {
	for _, c := range []struct {
		what string
		l    Listing
		to   uint64 // the last slot that it leads to; 0: none
	}{
		{"nothing", listingOf(nil, [2]int{1, 5}), 0},
		{"a full copy alone", listingOf([]int{3, 5}), 5},
		{"segments", listingOf([]int{5}, [2]int{1, 4}, [2]int{5, 9}, [2]int{10, 10}), 10},
		{"a gap", listingOf([]int{5}, [2]int{6, 7}, [2]int{9, 12}), 7},
		{"a gap at once", listingOf([]int{5}, [2]int{7, 12}), 5},
		{"a newer full copy in the gap", listingOf([]int{5, 8}, [2]int{6, 7}, [2]int{9, 12}), 12},
	} {
		for slot := uint64(1); slot < 20; slot++ {
			if got := c.l.LeadsTo(slot); got != (slot <= c.to) {
				t.Errorf("%s: to slot %d: %v", c.what, slot, got)
			}
		}
	}
}
