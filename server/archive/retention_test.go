package archive

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// verified says that the full copies of slots were verified, one a second after the other.
func (l Listing) verified(slots ...int) Listing {
	for _, s := range slots {
		l.Verified = append(l.Verified, Verified{Full: full(s), Through: uint64(s), When: at(100 + len(l.Verified))})
	}
	return l
}

func TestKept(t *testing.T) {
	s := Schedule{Keep: 10 * time.Second}
	for _, c := range []struct {
		what string
		l    Listing
		now  int
		want []int
	}{
		{"none", listingOf(nil), 50, nil},
		{"the only one", listingOf([]int{1}), 50, []int{1}},
		{"all are young", listingOf([]int{41, 45}), 50, []int{41, 45}},
		{"the newest of the old ones, with which the time begins", listingOf([]int{20, 30, 45}), 50, []int{30, 45}},
		{"just as old", listingOf([]int{20, 40, 45}), 50, []int{40, 45}},
		{"all are old", listingOf([]int{20, 30}), 50, []int{30}},
		{"the newest verified one", listingOf([]int{10, 20, 30, 45}).verified(10, 20), 50, []int{20, 30, 45}},
		{"verified later, but older", listingOf([]int{10, 20, 30, 45}).verified(20, 10), 50, []int{20, 30, 45}},
		{"the verified one is gone", listingOf([]int{10, 20, 30, 45}).verified(10, 25), 50, []int{10, 30, 45}},
	} {
		var got []int
		for _, f := range s.Kept(&c.l, at(c.now)) {
			got = append(got, int(f.Slot))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestWhatIsDeletedIsNotNeeded draws archives and times, deletes expired objects, and restores every state of the kept
// time.
func TestWhatIsDeletedIsNotNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fulls, checked []int
		var segments [][2]int
		now := rapid.IntRange(30, 60).Draw(t, "now")
		for slot := 1; slot <= now; {
			last := slot + rapid.IntRange(0, 4).Draw(t, "more")
			segments = append(segments, [2]int{slot, last})
			if rapid.IntRange(0, 2).Draw(t, "full") == 0 && last <= now {
				fulls = append(fulls, last)
				if rapid.Bool().Draw(t, "verified") {
					checked = append(checked, last)
				}
			}
			slot = last + 1
		}
		l := listingOf(fulls, segments...).verified(checked...)
		s := Schedule{Keep: time.Duration(rapid.IntRange(1, 40).Draw(t, "keep")) * time.Second}
		kept := s.Kept(&l, at(now))
		gone := append(ExpiredSegments(&l, kept), ExpiredCopies(&l, kept)...)
		var names []string
		for _, f := range l.Fulls {
			names = append(names, f.Name(cluster))
		}
		for _, v := range l.Verified {
			names = append(names, v.Name(cluster))
		}
		for _, g := range l.Segments {
			names = append(names, g.Name(cluster))
		}
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(gone, n) })
		left := List(cluster, names)
		if v, ok := l.NewestVerified(); ok {
			if now, ok := left.NewestVerified(); !ok || now.Full != v.Full {
				t.Fatalf("the newest verified one is gone")
			}
		}
		for second := now - int(s.Keep/time.Second); second <= now; second++ {
			before, err := PlanRestore(&l, At{Time: at(second)})
			if err != nil {
				continue
			}
			after, err := PlanRestore(&left, At{Time: at(second)})
			if err != nil || after.text() != before.text() {
				t.Fatalf("%d s: %s was %s: %v", second, after.text(), before.text(), err)
			}
		}
		if again := s.Kept(&left, at(now)); fmt.Sprint(again) != fmt.Sprint(kept) ||
			len(ExpiredCopies(&left, again))+len(ExpiredSegments(&left, again)) > 0 {
			t.Fatal("a second time deletes more")
		}
	})
}

func TestDue(t *testing.T) {
	s := Schedule{FullEvery: 10 * time.Second, VerifyEvery: 20 * time.Second}
	none, two := listingOf(nil), listingOf([]int{1, 5}).verified(1)
	if !s.FullDue(&none, at(0)) || s.VerifyDue(&none, at(0)) {
		t.Error("without a full copy one is due, and nothing to verify")
	}
	if s.FullDue(&two, at(14)) || !s.FullDue(&two, at(15)) {
		t.Error("a full copy is due after FullEvery")
	}
	if s.VerifyDue(&two, at(119)) || !s.VerifyDue(&two, at(120)) {
		t.Error("a verification is due after VerifyEvery")
	}
	two.Verified = nil
	if !s.VerifyDue(&two, at(5)) {
		t.Error("the first verification is due at once")
	}
}

func TestMoments(t *testing.T) {
	var m Moments
	if _, ok := m.Between(1, 1, 9); ok || m.Lag(0, base) != 0 {
		t.Error("of nothing")
	}
	m.Add(5, 50, at(5))
	m.Add(5, 50, at(6)) // no news
	m.Add(8, 80, at(4)) // the clock went back
	m.Add(9, 90, at(9))
	for _, c := range []struct {
		first, last uint64
		want        string
	}{
		{1, 4, "[{4 0 5}]"}, {1, 5, "[{5 50 5}]"}, {5, 6, "[{5 50 5} {6 0 5}]"}, {6, 8, "[{8 80 5}]"},
		{1, 9, "[{5 50 5} {8 80 5} {9 90 9}]"}, {9, 10, "[]"},
	} {
		all, _ := m.Between(c.first, c.last, 100)
		for i := range all {
			all[i].TimeMS = (all[i].TimeMS - base.UnixMilli()) / 1000
		}
		if got := fmt.Sprint(all); got != c.want {
			t.Errorf("%d to %d: %s, want %s", c.first, c.last, got, c.want)
		}
	}
	if lag := m.Lag(5, at(7)); lag != 2*time.Second {
		t.Errorf("the lag behind slot 5 is %v", lag)
	}
	if lag := m.Lag(9, at(7)); lag != 0 {
		t.Errorf("the lag behind everything is %v", lag)
	}
	m.NotBefore(at(7))
	m.Forget(5)
	if all, _ := m.Between(1, 8, 100); len(all) != 1 || all[0].Time() != at(7) {
		t.Errorf("%v", all)
	}
	for i := range uint64(3 * maxMoments) {
		m.Add(10+i, i, at(10))
	}
	if len(m.all) > maxMoments {
		t.Errorf("%d moments", len(m.all))
	}
	if all, ok := m.Between(1, 3*maxMoments, 500); !ok || len(all) > 1001 {
		t.Errorf("%d moments for a segment", len(all))
	}
}

// TestAClockThatIsWrong: a master whose clock is a year ahead, or at 1970, expires no copy before Schedule.least newer
// ones were made. Its copies and verifications do not delay the next ones.
func TestAClockThatIsWrong(t *testing.T) {
	const day = 24 * time.Hour
	s := Schedule{FullEvery: day, Keep: 7 * day, VerifyEvery: day}
	for name, wrong := range map[string]time.Duration{"ahead": 365 * day, "behind": -20_000 * day} {
		var l Listing
		add := func(days int, clock time.Duration) {
			l.Fulls = append(l.Fulls, Full{Slot: uint64(100 + days), Made: base.Add(time.Duration(days)*day + clock)})
		}
		for d := range 8 {
			add(d, 0)
		}
		for d := 8; d < 20; d++ {
			add(d, wrong)
			kept := s.Kept(&l, base.Add(time.Duration(d)*day+wrong))
			if oldest := int(kept[0].Slot) - 100; oldest > d-7 {
				t.Errorf("%s: on day %d nothing before day %d is kept", name, d, oldest)
			}
		}
		v := Verified{Full: l.Fulls[len(l.Fulls)-1], When: base.Add(19*day + wrong)}
		l.Verified = []Verified{v}
		if now := base.Add(20 * day); !s.FullDue(&l, now) || !s.VerifyDue(&l, now) {
			t.Errorf("%s: with the right clock nothing is due", name)
		}
		for d := 20; d < 60; d++ { // dates do not fall back
			add(d, max(wrong, 0))
		}
		if kept := s.Kept(&l, base.Add(60*day)); len(kept) > 2*s.least() {
			t.Errorf("%s: %d are kept", name, len(kept))
		}
	}
	near := listingOf([]int{3600})
	if s.FullDue(&near, at(0)) {
		t.Error("a copy of a clock that is an hour ahead does not count")
	}
}
