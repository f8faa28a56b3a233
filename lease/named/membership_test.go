package named

import (
	"testing"
	"time"
)

// Changing members, the stamp: an acceptor answers under the membership that it has in force and under no other. An
// older stamp is refused for good; a newer one until its era is the floor here (N3). It says which one is in force, and
// remembers nothing of the name.
func TestMembersOtherStampsAreRefused(t *testing.T) {
	w := newWorld(t)
	table := w.tables[1]
	table.SetMembership(w.now, 3, 9)
	table.SetMembership(w.now, 2, 20) // changes nothing
	before := string(table.AppendState(nil, w.now))
	for _, stamp := range []uint64{0, 1, 2, 4} {
		for kind, want := range map[Kind]Kind{Prepare: PrepareRejected, Accept: AcceptRejected} {
			q := Request{Kind: kind, Name: nameOf("n"), Counter: 1, Acquisition: acquisitionOf("a"), Token: 99 << 32,
				Duration: time.Second, Membership: stamp}
			r, ok := table.Handle(w.now, w.self, q)
			if !ok || r.Kind != want || r.Membership != 3 || r.Full || r.Report != table.Floor() || r.Check() != nil {
				t.Errorf("%v of membership %d: %v, %+v", kind, stamp, ok, r)
			}
		}
	}
	if string(table.AppendState(nil, w.now)) != before {
		t.Error("requests of other memberships have changed something")
	}
	q := Request{Kind: Prepare, Name: nameOf("n"), Counter: 1, Membership: 3}
	if r, ok := table.Handle(w.now, w.self, q); !ok || r.Kind != Promise {
		t.Errorf("of the membership in force: %v, %+v", ok, r)
	}
}

// A missing stamp, an older version's, and a missing number of a configuration count as 1.
func TestMembersNoStampIsTheFirst(t *testing.T) {
	w := newWorld(t)
	for _, number := range []uint64{0, 1} {
		c := testConfig()
		c.Membership = number
		w.start(1, c, 1)
		for stamp, want := range []Kind{Promise, Promise, PrepareRejected} {
			does(t, w.tables[1], w.now, Request{Kind: Prepare, Name: nameOf("n"), Counter: 1, Membership: uint64(stamp)}, want)
		}
	}
}

// A rejection of another stamp reports the live lease. Release ends that lease whatever the membership: a release is
// final (N1).
func TestMembersReleaseNeedsNoStamp(t *testing.T) {
	w := newWorld(t)
	w.want(w.try(ask("a")), EndWon)
	w.tables[1].SetMembership(w.now, 2, 9)
	q := Request{Kind: Prepare, Name: nameOf("n"), Counter: 1, Membership: 1}
	if r, _ := w.tables[1].Handle(w.now, w.self, q); !r.Live || r.LiveAcquisition != acquisitionOf("a") {
		t.Errorf("%+v", r)
	}
	does(t, w.tables[1], w.now, Request{Kind: Release, Name: nameOf("n"), Counter: 2, Acquisition: acquisitionOf("a")},
		Released)
	if l, live := w.tables[1].Live(w.now, nameOf("n")); live {
		t.Errorf("after the release: %+v", l)
	}
}

// N3: "each change of members also allots one, and acceptors raise their floor before they answer under it", in the
// next run too. It opens no run: that takes an entry which names the run.
func TestN3EraOfAMembership(t *testing.T) {
	w := newWorld(t)
	for n, table := range w.tables {
		table.SetMembership(w.now, 2, 70)
		if table.Floor() != FirstToken(70) {
			t.Errorf("node %d: floor %v", n, table.Floor())
		}
	}
	a := w.begin(Ask{Name: nameOf("n"), Acquisition: acquisitionOf("a"), Duration: time.Second, Membership: 2})
	for range 4 {
		w.round(a)
	}
	w.want(a, EndWon)
	if a.Token() != FirstToken(70)+1 {
		t.Errorf("token %v", a.Token())
	}
	c := testConfig()
	c.Membership, c.Era = 2, 70
	w.start(1, c, 0)
	if table := w.tables[1]; table.Floor() != FirstToken(70) || table.Membership() != 2 || table.Opened() {
		t.Errorf("the next run: floor %v, membership %d, opened %v", table.Floor(), table.Membership(), table.Opened())
	}
	w.tables[1].SetMembership(w.now, 3, 71)
	if w.tables[1].Opened() {
		t.Error("a membership opened the run")
	}
}

// Each attempt has one stamp, in both phases. One that no quorum takes for its stamp is tried again: the node that made
// it is about to learn the newer one.
func TestMembersAnAttemptIsOfOneMembership(t *testing.T) {
	w := newWorld(t)
	a := w.begin(Ask{Name: nameOf("n"), Acquisition: acquisitionOf("a"), Duration: time.Second, Membership: 5})
	for _, table := range w.tables {
		table.SetMembership(w.now, 5, 9)
	}
	for a.Phase() != Over {
		if q, _ := a.Requests(w.now); q.Membership != 5 {
			t.Errorf("%v of membership %d", q.Kind, q.Membership)
		}
		w.round(a)
	}
	w.want(a, EndWon)
	old := ask("a")
	old.Membership = 4
	w.want(w.try(old), EndRejected)
}

// "… or, for long user leases, of the longest remaining older-stamped exclusion": until all records have been looked
// at, it is the longest that there can be.
func TestMembersOlderExclusion(t *testing.T) {
	w := newWorld(t)
	table := w.tables[1]
	left := func() time.Duration { return table.OlderExclusion(w.now) }
	for i, d := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 200 * time.Millisecond} {
		q := ask(string(rune('a' + i)))
		q.Name, q.Duration = nameOf(string(rune('a'+i))), d
		w.want(w.try(q), EndWon)
	}
	if left() != 0 {
		t.Errorf("%v of older memberships, and there is none", left())
	}
	table.SetMembership(w.now, 2, 9)
	table.SetMembership(w.now+time.Second, 2, 9) // again: changes nothing
	if !table.CountOlder(2) || left() != testM+testMargin {
		t.Errorf("%v while records are counted", left())
	}
	if table.CountOlder(2) || left() != 300*time.Millisecond+testMargin {
		t.Errorf("%v, want that of 300 ms", left())
	}
	w.now += 50 * time.Millisecond
	long := ask("d")
	long.Name, long.Duration, long.Membership = nameOf("d"), testM, 2
	for _, x := range w.tables {
		x.SetMembership(w.now, 2, 9)
	}
	w.want(w.try(long), EndWon)
	if left() != 250*time.Millisecond+testMargin {
		t.Errorf("%v: a lease of the new membership counts", left())
	}
	table.SetMembership(w.now, 3, 10)
	for table.CountOlder(1) {
	}
	if left() != testM+testMargin {
		t.Errorf("%v after the next change", left())
	}
	c := testConfig()
	c.SilentUntil = w.now + time.Minute
	w.start(1, c, 0)
	if table = w.tables[1]; left() != time.Minute {
		t.Errorf("%v, want the silence", left())
	}
}
