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

// Handover gives mastership up. It must not be copied.
type Handover struct {
	Clock   *clock.Clock
	Log     *Log
	Elector *Elector

	mu sync.Mutex // one at a time
}

// Give gives mastership up, as replica.Handover says. next is a hint, 0 for none. With CauseStopping it is for good. If
// the run fails or ends meanwhile, Give does not release the lease: the guardian does, or it runs out. Give waits for
// another Give under way.
func (h *Handover) Give(next ballot.NodeID, why elector.Cause) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := replica.Handover{Next: next, Why: why}
	for {
		var release *elector.Release
		if !h.Log.Do(func(part *replica.Log) { release = g.Step(part, h.Clock.Now()) }) {
			return
		}
		if release != nil {
			h.Elector.Release(*release)
			break
		}
		time.Sleep(replica.HandoverEvery)
	}
	if g.Stays() {
		h.Log.Do((*replica.Log).Resume)
	}
}
