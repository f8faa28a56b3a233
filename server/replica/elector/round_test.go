package elector

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/server/replica/effect"
)

var testSelf = ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}

func newTestRound(t *testing.T, voters ...ballot.NodeID) *Round {
	t.Helper()
	e, err := New(Config{Self: testSelf, Voters: quorum.Of(voters...), Timing: testTiming,
		Duration: testLease, Seed: 1,
		Acceptor: lease.AcceptorConfig{Self: 1, Timing: testTiming}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return NewRound(e)
}

// T2: an event is handled by a reading of the clock that was made after it was taken.
func TestT2TheClockIsReadAfterTheEvents(t *testing.T) {
	r := newTestRound(t, 1, 2, 3)
	if first, second := r.Next(), r.Next(); first != effect.Take || second != effect.Clock {
		t.Errorf("a round begins with %v, %v", first, second)
	}
}

func TestARoundDoesNotGoOnWithoutTheClock(t *testing.T) {
	r := newTestRound(t, 1, 2, 3)
	for e := r.Next(); e != effect.Clock; e = r.Next() {
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	r.Next()
}

// P6, P7: what the step has made of the lease is published, and noted, before messages leave.
func TestP6P7NothingLeavesBeforeItIsShown(t *testing.T) {
	r := newTestRound(t, 1, 2, 3)
	var order []effect.Effect
	for e := effect.Effect(0); e != effect.Done; order = append(order, e) {
		if e = r.Next(); e == effect.Clock {
			r.Read(time.Second, View{})
		}
	}
	want := []effect.Effect{effect.Take, effect.Clock, effect.Lease, effect.Tenures, effect.Note, effect.Send,
		effect.Timer, effect.Done}
	if !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// P6: a round that releases the lease publishes that nothing is held.
func TestP6ARoundThatReleasesShowsNothingHeld(t *testing.T) {
	r := newTestRound(t, 1)
	round := func(event Event) (s State) {
		for e := r.Next(); e != effect.Done; e = r.Next() {
			switch e {
			case effect.Take:
				r.Add(event)
			case effect.Clock:
				r.Read(time.Second, View{})
			case effect.Lease:
				s = r.State()
			}
		}
		return s
	}
	if s := round(Event{}); s.Tenure == 0 {
		t.Fatal("a node alone does not win the lease")
	}
	if s := round(Event{Release: &Release{StandBack: time.Second, Why: CauseHandedOver}}); s.Tenure != 0 {
		t.Errorf("shown after the release: %+v", s)
	}
}
