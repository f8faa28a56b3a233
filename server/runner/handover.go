package runner

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/replica"
)

// Handover gives mastership up in the order that DESIGN.md fixes.
type Handover struct {
	LeaseTime time.Duration
	Clock     *clock.Clock
	Log       *Log
	Elector   *Elector
}

// How long a stopping or handing-over master finishes what is in flight, and how long it then stands back.
const (
	finishFor      = 100 * time.Millisecond
	standBackLease = 4 // lease times
)

// Give gives mastership up: it has the log take up no new requests, finish what is in flight for a short while, stop
// acting as master and answer the rest unknown; then the lease is released. next is a hint, 0 for none. With
// CauseStopping it is for good. If the run fails or ends meanwhile, the lease is not released: its guardian does that,
// or it runs out.
func (h *Handover) Give(next ballot.NodeID, why replica.Cause) {
	forGood := why == replica.CauseStopping
	h.Log.Do(func(part *replica.Log) {
		if forGood {
			part.Stop()
		} else {
			part.HandOver()
		}
	})
	for end := h.Clock.Now() + finishFor; h.Clock.Now() < end; {
		idle := false
		if h.Log.Do(func(part *replica.Log) { idle = part.Idle() }) && idle {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !h.Log.Do(func(part *replica.Log) { part.StepDown(h.Clock.Now()) }) {
		return
	}
	h.Elector.Release(replica.Release{StandBack: standBackLease * h.LeaseTime, Why: why, Next: next})
	if !forGood {
		h.Log.Do(func(part *replica.Log) { part.Resume() })
	}
}
