package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/server/replica/elector"
)

const (
	// finishFor is how long a master that stops or hands over may take to finish writes in flight.
	finishFor = 100 * time.Millisecond
	// standBackLeases is for how many lease times it then stands back.
	standBackLeases = 4
)

// Handover is the end of this node's mastership by its own will, in the order that server/runner/DESIGN.md argues for:
// no new work, finish what is in flight, stop acting as master, and only then release the lease. Once the Release has
// left, a node that stays calls Log.Resume. There must be one at a time: the end of one would let the log lead while
// another releases the lease.
type Handover struct {
	Next ballot.NodeID // the node that should try first; 0: whoever likes to
	Why  elector.Cause // one of those that are releases; CauseStopping: for good

	until time.Duration // writes in flight may finish until then; 0: it has not begun
}

// HandoverEvery is the time between two steps of a Handover.
const HandoverEvery = time.Millisecond

// Stays reports whether the node takes up work afterwards.
func (h *Handover) Stays() bool { return h.Why != elector.CauseStopping }

// Step does what is due, in a round of the log part. It returns nil, and is called again, until this node does not act
// as master any more. Then it returns what to tell the elector.
func (h *Handover) Step(l *Log, now time.Duration) *elector.Release {
	if h.until == 0 {
		h.until = now + finishFor
		l.HandOver(h.Stays())
	}
	if now < h.until && !l.Idle() {
		return nil
	}
	l.StepDown(now)
	return &elector.Release{StandBack: standBackLeases * l.cfg.Timing.MaxMaster, Why: h.Why, Next: h.Next}
}

// NudgeStandBack returns how long a node stands back that hears the old master name another as the next one: the named
// one tries meanwhile.
func NudgeStandBack(leaseTime time.Duration) time.Duration { return leaseTime / 4 }

// HandOver begins the end of this node's mastership: it proposes nothing any more. If the node stays, it keeps the
// requests of its own clients for the next master, and Resume ends the hand-over. Otherwise it takes no requests any
// more, and refuses those that are not proposed.
func (l *Log) HandOver(stays bool) {
	l.stopping = true
	l.hurry(l.now)
	l.timers.recall(&l.queue)
	if stays {
		l.queue.sendBack(&l.out)
		l.changes.refuse(0, NoMaster, &l.out)
		return
	}
	l.leaving = true
	l.queue.refuseAll(Stopping, &l.out)
	l.changes.refuse(0, Stopping, &l.out)
}

// Resume lets the node take up work as master again, unless it was told meanwhile to stop for good.
func (l *Log) Resume() { l.stopping = l.leaving }

// Idle reports whether no write is in flight here, or waits for the master's answer.
func (l *Log) Idle() bool {
	return len(l.batches.inFlight) == 0 && len(l.batches.applied) == 0 && l.forwards.open == 0
}

// Relief returns a member that should be master instead of this node, because this node is short of space or about to
// be removed. It returns 0 if no member can, or without need.
func (l *Log) Relief() (next ballot.NodeID, why elector.Cause) {
	switch {
	case !l.epoch.ready || l.stopping:
		return 0, elector.CauseUnknown
	case l.changes.step.HandOver:
		return l.members.successor(l.ticks, l.state.Applied()), elector.CauseNoVoter
	}
	return l.members.relief(l.ticks, l.state.Applied()), elector.CauseNoSpace
}

// relief returns a voter to hand over to if this node is short of space, or 0. The voter has more space and is almost
// caught up with this node. It and other connected voters with more space make a quorum without this node.
func (m *membersView) relief(tick, applied uint64) ballot.NodeID {
	if m.space == SpaceEnough || tick < m.relieved {
		return 0
	}
	for _, frees := range [...]bool{false, true} {
		if m.space.takes(frees) {
			break
		}
		var with quorum.Set
		next := ballot.NodeID(0)
		for i := range m.peers {
			p := &m.peers[i]
			if !p.connected || !m.voters.Has(p.node) || !p.space.takes(frees) {
				continue
			}
			with.Add(p.node)
			if next == 0 && p.applied+SuccessorLag >= applied {
				next = p.node
			}
		}
		if next != 0 && quorum.Reached(m.voters, with) {
			m.relieved = tick + reliefTicks
			return next
		}
	}
	return 0
}

// successor returns a voter to hand over to before this node is removed, or 0. The voter is connected, has space, and
// is almost caught up with this node (SuccessorLag).
func (m *membersView) successor(tick, applied uint64) ballot.NodeID {
	if tick < m.relieved {
		return 0
	}
	for i := range m.peers {
		p := &m.peers[i]
		if p.connected && m.voters.Has(p.node) && p.space.takes(true) && p.applied+SuccessorLag >= applied {
			m.relieved = tick + reliefTicks
			return p.node
		}
	}
	return 0
}

// SuccessorLag is how many slots a node may be behind and still take over: heartbeats are a few ticks old.
const SuccessorLag = 1000

// reliefTicks is the time between two attempts of a node to hand over by itself.
const reliefTicks = 250
