package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// epoch is one mastership of this node: it leads the log under a tenure of the lease, and is ready once its barrier
// entry is applied.
type epoch struct {
	tenure  uint64          // of the lease; 0: this node does not lead
	ballot  ballot.Ballot   // of the epoch that is being opened or open
	barrier multipaxos.Slot // slot of its barrier entry; 0: not proposed
	ready   bool
}

// leads reports whether this node leads the log, ready or not.
func (e *epoch) leads() bool { return e.tenure != 0 }

// lead starts recovery (M2, M3) for a tenure.
func (e *epoch) lead(core *multipaxos.Core, tenure uint64) {
	core.Lead()
	*e = epoch{tenure: tenure, ballot: core.Ballot()}
}

// open proposes the barrier entry (M4) when recovery is complete.
func (e *epoch) open(core *multipaxos.Core) {
	if !e.leads() || e.barrier != 0 || core.Phase() != multipaxos.Leading {
		return
	}
	if slot, ok := core.Propose(openValue(core.Ballot())); ok {
		e.barrier, e.ballot = slot, core.Ballot()
	}
}

// applied implements M4: the epoch is ready once its barrier entry, and with it every slot below, is chosen and
// applied. The slot of the barrier entry is the mastership's fencing token.
func (e *epoch) applied(x multipaxos.Entry) {
	if !e.leads() || e.ready || e.barrier == 0 || x.Slot != e.barrier || x.Ballot != e.ballot {
		return
	}
	e.ready = true
}

// close ends readiness.
func (e *epoch) close() { e.ready, e.barrier = false, 0 }

// number is the epoch as clients see it: its fencing token.
func (e *epoch) number() uint64 { return uint64(e.barrier) }

// heartbeat returns the heartbeat of a node that has applied through slot applied, and whose lease ends at deadline.
func (e *epoch) heartbeat(applied uint64, space Space, now, deadline time.Duration) Heartbeat {
	h := Heartbeat{Applied: applied, Space: space.told()}
	if e.ready {
		h.Master, h.Epoch, h.LeaseLeft = true, e.number(), max(0, deadline-now)
	}
	return h
}
