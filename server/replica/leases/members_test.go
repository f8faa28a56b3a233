package leases

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease/named"
	"tenure/server/members"
)

// Named leases: the part answers, asks and raises its floor by the membership in force, and tells of it once the
// exclusions of older stamps are counted.
func TestMembersNamedLeasesGoOver(t *testing.T) {
	w := newWorld(t)
	held := w.ask(1, Acquire, "n", "a", 0)
	w.pass(10 * time.Millisecond)
	if w.answers[held].Outcome != Done {
		t.Fatalf("%+v", w.answers[held])
	}
	m := &members.InForce{Number: 2, Voters: quorum.Of(1, 2), Era: 50}
	for _, n := range []ballot.NodeID{1, 2} {
		d := w.nodes[n]
		d.give(w.now, Event{Membership: m})
		number, excluding := d.InForce(w.now)
		if number != 2 || d.told != 1 || d.Status(w.now).Floor != named.FirstToken(50) {
			t.Errorf("node %d: membership %d, told %d times, %+v", n, number, d.told, d.Status(w.now))
		}
		if longest, _ := d.cfg.Table.Timing.Exclusion(testTTL); excluding <= 0 || excluding > longest {
			t.Errorf("node %d: a lease of %v under the membership before, and %v are left", n, testTTL, excluding)
		}
	}
	if id := w.ask(1, Acquire, "m", "b", 0); true {
		w.pass(10 * time.Millisecond)
		if a := w.answers[id]; a.Outcome != Done || a.Token <= named.FirstToken(50) {
			t.Errorf("under membership 2: %+v", a)
		}
	}
	if id := w.ask(3, Acquire, "o", "c", 0); true {
		w.pass(5 * time.Millisecond)
		w.nodes[3].give(w.now, Event{Membership: &members.InForce{Number: 2, Voters: quorum.Of(1, 2), Era: 50}})
		w.pass(200 * time.Millisecond)
		if a := w.answers[id]; a.Outcome != Done || a.Token <= named.FirstToken(50) {
			t.Errorf("at a node that goes over while it tries: %+v", a)
		}
	}
	alone := &members.InForce{Number: 3, Voters: quorum.Of(1), Era: 51}
	w.nodes[1].give(w.now, Event{Membership: alone})
	w.nodes[1].give(w.now, Event{Membership: m}) // older: changes nothing
	w.nodes[1].give(w.now, Event{Membership: &members.InForce{Number: 3, Voters: quorum.Of(2), Era: 60}})
	if id := w.ask(1, Acquire, "p", "d", 0); w.answers[id].Outcome != Done ||
		w.answers[id].Token != named.FirstToken(51)+1 {
		t.Errorf("the only voter: %+v", w.answers[id])
	}
}

// Over many changes a node remembers only present voters: there is no space for all former ones.
func TestFormerVotersOfNamedLeasesAreForgotten(t *testing.T) {
	v := voters{silences: map[ballot.NodeID]time.Duration{}}
	for n := ballot.NodeID(1); n <= 3*quorum.MaxVoters; n++ {
		now := quorum.Of(n, n+1)
		v.follow(now)
		v.keepsSilent(n, time.Hour)
		v.keepsSilent(n+50, time.Hour) // none of them
		if v.unanswered != quorum.Of(n) {
			t.Fatalf("of %v: unanswered %v", now, v.unanswered)
		}
	}
}
