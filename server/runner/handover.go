package runner

import (
	"sync"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// Relief is a member that should take over from this master, and why.
type Relief struct {
	Next ballot.NodeID
	Why  elector.Cause
}

// Relief is where the log says which member should take over, because this master's disk is short of space, or because
// it is to be removed. A receiver that is late misses nothing: it is said again.
func (l *Log) Relief() <-chan Relief { return l.relief }

// Handover gives mastership up in the order that DESIGN.md fixes. It must not be copied.
type Handover struct {
	LeaseTime time.Duration
	Clock     *clock.Clock
	Log       *Log
	Elector   *Elector

	mu sync.Mutex // one at a time: the end of one would let the log lead while another releases the lease
}

// Give gives mastership up. The log takes no new requests, finishes requests in flight for a short while, stops acting
// as master and answers the rest unknown. Then the lease is released. next is a hint, 0 for none. With CauseStopping it
// is for good. If the run fails or ends meanwhile, Give does not release the lease: the guardian does, or it runs out.
// Give waits for another Give under way.
func (h *Handover) Give(next ballot.NodeID, why elector.Cause) {
	h.mu.Lock()
	defer h.mu.Unlock()
	forGood := why == elector.CauseStopping
	h.Log.Do(func(part *replica.Log) { part.HandOver(!forGood) })
	for end := h.Clock.Now() + replica.FinishFor; h.Clock.Now() < end; {
		idle := false
		if h.Log.Do(func(part *replica.Log) { idle = part.Idle() }) && idle {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !h.Log.Do(func(part *replica.Log) { part.StepDown(h.Clock.Now()) }) {
		return
	}
	h.Elector.Release(elector.Release{StandBack: replica.StandBackLeases * h.LeaseTime, Why: why, Next: next})
	if !forGood {
		h.Log.Do(func(part *replica.Log) { part.Resume() })
	}
}
