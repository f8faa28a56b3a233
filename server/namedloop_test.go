package server

import (
	"sync"
	"sync/atomic"
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
	part.Open(1)
	l := newNamedLoop(n, part, 0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		_ = l.run(stop)
	}()
	const goroutines, events = 4, 5000
	var early atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range events {
				came := n.clock.Now()
				l.inbox.put(namedEvent{call: func(now time.Duration) {
					if now < came {
						early.Add(1)
					}
				}})
			}
		})
	}
	all.Wait()
	close(stop)
	<-stopped
	if got := early.Load(); got > 0 {
		t.Errorf("%d of %d events were handled under a reading from before they came", got, goroutines*events)
	}
}
