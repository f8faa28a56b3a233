package elector

import (
	"testing"
	"time"

	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/server/replica/effect"
)

// round makes a round of event at now.
func (r *Round) round(now time.Duration, event Event, v View) {
	for e := r.Next(); e != effect.Done; e = r.Next() {
		switch e {
		case effect.Take:
			r.Add(event)
		case effect.Clock:
			r.Read(now, v)
		}
	}
}

// M6: if the log hangs the elector lets go, but only while another voter says that it is able.
func TestM6LogThatHangs(t *testing.T) {
	const ticked = 10 * time.Minute
	bound := BoundFor(testLease)
	for _, tc := range []struct {
		name   string
		ticked time.Duration // reading at the log's last tick
		able   time.Duration // reading of the report
		after  time.Duration // the last tick
		event  Event
		lets   bool
	}{
		{"it ticks", ticked, ticked + bound - 2, bound - 1, Event{}, false},
		{"it hangs, and nobody is able", ticked, 0, bound, Event{}, false},
		{"it hangs, and the other said so long ago", ticked, ticked + bound*3/4, bound, Event{}, false},
		{"it has not ticked yet", 0, ticked + bound, bound, Event{}, false},
		{"it hangs, and this is about something else", ticked, ticked + bound, bound, Event{Nudged: true}, false},
		{"it hangs, and another is able", ticked, ticked + bound*3/4 + 1, bound, Event{}, true},
	} {
		r, now := newTestRound(t, 1), ticked+tc.after
		r.round(now-1, Event{}, View{})
		r.round(now, tc.event, View{Ticked: tc.ticked, Able: func() time.Duration { return tc.able }})
		if g := r.Event().LetGo; r.HasLetGo() != tc.lets || tc.lets && (g.Reason != ReasonHung || g.For != bound) {
			t.Errorf("%s: %+v", tc.name, g)
		}
	}
}

// M6: a node whose log hangs starts no attempt while another voter says that it is able.
func TestM6WhoseLogHangsMakesWay(t *testing.T) {
	now, bound := time.Minute, BoundFor(testLease)
	for _, tc := range []struct {
		ticked, able time.Duration
		tries        bool
	}{{now - bound, now, false}, {now - bound + 1, now, true}, {now - bound, 0, true}} {
		r := newTestRound(t, 1)
		r.round(now, Event{}, View{Ticked: tc.ticked, Able: func() time.Duration { return tc.able }})
		if won := r.State().Tenure != 0; won != tc.tries {
			t.Errorf("ticked at %v, another able at %v: has won at %v: %t", tc.ticked, tc.able, now, won)
		}
	}
}

// A node whose clock cannot be trusted lets go of the lease, and starts no attempt.
func TestAClockThatCannotBeTrustedHoldsNoLease(t *testing.T) {
	r := newTestRound(t, 1)
	r.round(time.Second, Event{}, View{})
	r.round(time.Second, Event{Nudged: true}, View{Distrusted: true})
	if r.HasLetGo() {
		t.Error("let go in a round that is about something else")
	}
	r.round(time.Second, Event{}, View{Distrusted: true})
	if g := r.Event().LetGo; !r.HasLetGo() || g.Reason != ReasonClock {
		t.Errorf("lets go of %+v", g)
	}
	r.round(time.Hour, Event{}, View{Distrusted: true})
	if s := r.State(); s.Tenure != 0 {
		t.Errorf("won %+v", s)
	}
	r.round(time.Hour, Event{}, View{})
	if s := r.State(); s.Tenure == 0 {
		t.Error("does not try by a clock that is trusted again")
	}
}

// A node whose clock cannot be trusted does not vote.
func TestAClockThatCannotBeTrustedDoesNotVote(t *testing.T) {
	other, err := New(Config{Self: incarnation(2), Voters: quorum.Of(1, 2), Timing: testTiming, Duration: testLease,
		Acceptor: lease.AcceptorConfig{Self: 2, Timing: testTiming}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	asks := NewRound(other)
	asks.round(time.Second, Event{}, View{})
	for _, distrusted := range []bool{true, false} {
		r := newTestRound(t, 1, 2)
		r.round(0, Event{Message: &asks.Messages()[0]}, View{Distrusted: distrusted, Barred: true})
		if votes := len(r.Messages()) > 0; votes == distrusted {
			t.Errorf("distrusted: %t, votes: %t", distrusted, votes)
		}
	}
}
