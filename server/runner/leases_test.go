package runner

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/server/replica/leases"
	"tenure/storage"
)

// newLoneLeases runs the named leases of a node alone.
func newLoneLeases(t *testing.T, store *storage.Store) *Leases {
	t.Helper()
	c := clock.New()
	self := ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}
	part, err := leases.New(leases.Config{Self: self, Voters: quorum.Of(1), MaxTasks: 1,
		Table: named.Config{Timing: lease.Timing{MaxMaster: time.Second, MaxUser: time.Second}, MaxRecords: 1, Width: time.Second}}, c.Now())
	if err != nil {
		t.Fatal(err)
	}
	return NewLeases(LeasesConfig{Part: part, Self: self, Clock: c, Store: store, Send: noPeers{}, Lifecycle: NewLifecycle(func() {}),
		Distrusted: func() bool { return false }, Registry: prometheus.NewRegistry(), Logger: zerolog.Nop()})
}

// T2: no event is handled under a reading of the clock from before it came.
func TestT2TheClockIsReadAfterTheEventsWereTaken(t *testing.T) {
	l := newLoneLeases(t, nil)
	l.inbox.drain = nil // stepped by hand
	l.inbox.put(leasesEvent{Event: leases.Event{Era: 1}})
	l.round()
	l.inbox.mu.Lock() // the round gets no events before it is given up
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.round()
	}()
	time.Sleep(20 * time.Millisecond) // the round waits for the inbox
	came, handled := l.cfg.Clock.Now(), time.Duration(0)
	l.inbox.add(leasesEvent{Event: leases.Event{Call: func(now time.Duration) { handled = now }}})
	l.inbox.mu.Unlock()
	<-done
	if handled < came {
		t.Errorf("an event that came at %v was handled under a reading of %v", came, handled)
	}
}

// N4: the part for named leases hears of a bucket when it is durable, and never of one whose writing failed.
func TestN4NothingIsReportedThatIsNotDurable(t *testing.T) {
	store := newStore(t)
	begin(t, store)
	l, stop, ended, stepped := newLoneLeases(t, store), make(chan struct{}), make(chan error, 1), make(chan struct{}, 1)
	l.inbox.drain = func() { stepped <- struct{}{} } // and keeps the turn
	b := named.Bucket{Length: 2048 * time.Millisecond, Quarantine: 2100 * time.Millisecond}
	l.buckets <- b
	go func() { ended <- l.writeBuckets(stop) }()
	<-stepped
	if got := l.inbox.popAll(); len(got) != 1 || got[0].Bucket != b || store.StartRecord().Bucket != b.Length {
		t.Fatalf("%+v, durable is %+v", got, store.StartRecord())
	}
	l.inbox.release()
	store.Close()
	l.buckets <- b
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a write that failed ended the loop without an error")
		}
	case <-stepped:
		t.Fatal("the part was told of a bucket whose writing failed")
	}
}
