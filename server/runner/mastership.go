package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// Mastership is the one published value that joins the runner of the elector, the runner of the log and the readers.
// Load is wait-free.
type Mastership struct {
	mu      sync.Mutex // orders the two writers
	value   atomic.Pointer[replica.Published]
	changed chan struct{} // the tenure has changed since the log's runner has looked; capacity 1
}

// NewMastership returns a Mastership that shows no tenure.
func NewMastership() *Mastership {
	m := &Mastership{changed: make(chan struct{}, 1)}
	m.value.Store(&replica.Published{})
	return m
}

// Load returns what is published now.
func (m *Mastership) Load() replica.Published { return *m.value.Load() }

// Serves reports whether this node is at now the master, and ready.
func (m *Mastership) Serves(now time.Duration) bool {
	p := m.Load()
	return p.Held(now) && p.Ready == p.Tenure
}

// SetLease publishes the elector's half. A change of tenure wakes the runner of the log.
func (m *Mastership) SetLease(s elector.State) {
	if !m.setLease(s) {
		return
	}
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// setLease reports whether the tenure changed.
func (m *Mastership) setLease(s elector.State) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := *m.value.Load()
	next := old.WithLease(s)
	m.value.Store(&next)
	return old.Tenure != s.Tenure
}

// SetReady publishes the log's half and reports whether it changed.
func (m *Mastership) SetReady(tenure, epoch uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := *m.value.Load()
	if old.Ready == tenure && (tenure == 0 || old.Epoch == epoch) {
		return false
	}
	next := old.WithReady(tenure, epoch)
	m.value.Store(&next)
	return true
}
