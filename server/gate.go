package server

import (
	"sync"
	"sync/atomic"
	"time"

	"tenure/server/replica"
)

// gate holds the one published value that joins the lease loop, the log loop and the readers. Load is wait-free.
type gate struct {
	mu    sync.Mutex // orders the two writers
	value atomic.Pointer[replica.Published]
}

func newGate() *gate {
	g := &gate{}
	g.value.Store(&replica.Published{})
	return g
}

func (g *gate) load() replica.Published { return *g.value.Load() }

// setLease publishes the lease part's half and tells whether the tenure changed.
func (g *gate) setLease(tenure uint64, deadline time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := *g.value.Load()
	next := old.WithLease(tenure, deadline)
	g.value.Store(&next)
	return old.Tenure != tenure
}

// setReady publishes the log part's half and tells whether it changed.
func (g *gate) setReady(tenure, epoch uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := *g.value.Load()
	if old.Ready == tenure && (tenure == 0 || old.Epoch == epoch) {
		return false
	}
	next := old.WithReady(tenure, epoch)
	g.value.Store(&next)
	return true
}
