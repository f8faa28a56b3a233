package leases

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/server/replica/effect"
)

func newTestRound(t *testing.T) *Round {
	t.Helper()
	timing := lease.Timing{MaxMaster: time.Second, MaxUser: time.Second}
	l, err := New(Config{Self: ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}, Voters: quorum.Of(1), MaxTasks: 1,
		Table: named.Config{Timing: timing, MaxRecords: 1, Width: time.Second}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return NewRound(l)
}

// T2: an event is handled by a reading of the clock that was made after it was taken.
func TestT2TheClockIsReadAfterTheEvents(t *testing.T) {
	r := newTestRound(t)
	if first, second := r.Next(), r.Next(); first != effect.Take || second != effect.Clock {
		t.Errorf("a round begins with %v, %v", first, second)
	}
}

func TestARoundDoesNotGoOnWithoutTheClock(t *testing.T) {
	r := newTestRound(t)
	for e := r.Next(); e != effect.Clock; e = r.Next() {
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	r.Next()
}
