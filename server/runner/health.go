package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
)

// Health is how able this node and its peers are to serve as master. The runner of the log publishes this node's
// standing, the connections bring what peers say, and the elector asks for it if the log hangs. No method waits for
// another goroutine: a reader of a lease connection must never wait for the log.
type Health struct {
	members  *Members
	standing atomic.Pointer[replica.Standing]

	mu      sync.Mutex // held for moments
	reports replica.Reports
}

// NewHealth returns the Health of a node among members.
func NewHealth(members *Members) *Health {
	h := &Health{members: members}
	h.standing.Store(&replica.Standing{})
	return h
}

// Hear takes what a peer says of itself.
func (h *Health) Hear(now time.Duration, from ballot.NodeID, said replica.Health) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports.Hear(now, from, said)
}

// Standing returns this node's own standing, as of the log's last tick.
func (h *Health) Standing() replica.Standing { return *h.standing.Load() }

// hangs shows that this node is not able because its log hangs, until that ticks.
func (h *Health) hangs() {
	s := h.standing.Load()
	unable := *s
	unable.Able = false
	h.standing.CompareAndSwap(s, &unable)
}

// takeReports appends the reports that have come since it was last called to events.
func (h *Health) takeReports(events []replica.Event) []replica.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reports.Take(events)
}

// able is elector.View's.
func (h *Health) able() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reports.Able(h.members.Load().Voters())
}
