package server

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/server/replica"
)

// T2: no event is handled under a reading of the clock from before it came.
func TestT2TheClockIsReadAfterTheEventsWereTaken(t *testing.T) {
	n := &Node{clock: clock.New(), log: zerolog.Nop(), ended: make(chan struct{})}
	part, err := replica.NewLeases(replica.LeasesConfig{Self: ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}, Voters: quorum.Of(1), MaxTasks: 1,
		Table: named.Config{Timing: lease.Timing{MaxMaster: time.Second, MaxUser: time.Second}, MaxRecords: 1, Width: time.Second}}, n.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	l := newNamedLoop(n, part, 0)
	l.inbox.drain = nil // stepped by hand
	l.inbox.put(namedEvent{LeasesEvent: replica.LeasesEvent{Era: 1}})
	l.round()
	l.inbox.mu.Lock() // the round gets no events before it is given up
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.round()
	}()
	time.Sleep(20 * time.Millisecond) // the round waits for the inbox
	came, handled := n.clock.Now(), time.Duration(0)
	l.inbox.add(namedEvent{LeasesEvent: replica.LeasesEvent{Call: func(now time.Duration) { handled = now }}})
	l.inbox.mu.Unlock()
	<-done
	if handled < came {
		t.Errorf("an event that came at %v was handled under a reading of %v", came, handled)
	}
}
