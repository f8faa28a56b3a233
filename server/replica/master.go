package replica

import (
	"time"

	"tenure/internal/ballot"
)

// masterView is who serves, as far as this node has been told.
type masterView struct {
	self    ballot.NodeID
	node    ballot.NodeID // 0: unknown
	epoch   uint64        // highest epoch heard of; kept when the node is forgotten
	heard   time.Duration // when its newest heartbeat came
	sign    uint64        // tick at which anything came from it
	until   time.Duration // when its lease ends if nothing more is heard: a hint (L1)
	applied uint64        // by it, as of the heartbeat before the newest
	newest  uint64        // applied as of the newest
}

// hangTicks is how long nothing must have come from the master before this node forwards nothing more to it. The master
// sends a heartbeat every heartbeatTicks. If it takes a write without an idempotency key and does not answer, the
// client never learns the outcome. A write that waits here goes to the next master.
const hangTicks = 8

// hangs reports whether the master seems to hang. It decides only what to send to it, nothing about its lease.
func (m *masterView) hangs(tick uint64) bool { return tick-m.sign >= hangTicks }

// sees notes that something came from a peer.
func (m *masterView) sees(from ballot.NodeID, tick uint64) {
	if from == m.node {
		m.sign = tick
	}
}

// isSelf reports whether this node serves.
func (m *masterView) isSelf() bool { return m.node == m.self }

// other returns the master if that is another node, and else 0.
func (m *masterView) other() ballot.NodeID {
	if m.isSelf() {
		return 0
	}
	return m.node
}

// forget makes the master unknown if it is node.
func (m *masterView) forget(node ballot.NodeID) {
	if m.node == node {
		m.node = 0
	}
}

// masterTimeout is how long a node hears no master until none is known to it.
func masterTimeout(leaseTime time.Duration) time.Duration {
	return max(4*leaseTime, 500*time.Millisecond)
}

// expire makes the master unknown after a time without heartbeats.
func (m *masterView) expire(now, timeout time.Duration) {
	if !m.isSelf() && now-m.heard > timeout {
		m.node = 0
	}
}

// become makes this node the master.
func (m *masterView) become(epoch uint64, now time.Duration) {
	*m = masterView{self: m.self, node: m.self, epoch: epoch, heard: now}
}

// resign forgets all if this node was the master.
func (m *masterView) resign() {
	if m.isSelf() {
		*m = masterView{self: m.self}
	}
}

// hear takes the heartbeat of another node. A master under a higher epoch replaces the one before; old is that node,
// and changed reports whether the node or its epoch is another one.
func (m *masterView) hear(now time.Duration, tick uint64, from ballot.NodeID, h Heartbeat) (old ballot.NodeID,
	changed bool) {
	old = m.node
	switch {
	case h.Master && h.Epoch >= m.epoch:
		before := m.newest
		if changed = m.node != from || m.epoch != h.Epoch; changed {
			before = h.Applied
		}
		*m = masterView{self: m.self, node: from, epoch: h.Epoch, heard: now, sign: tick, until: now + h.LeaseLeft,
			applied: before,
			newest:  h.Applied}
	case !h.Master:
		m.forget(from)
	}
	return old, changed
}

// age is how long ago the master was heard, and left how much of its lease remains, a hint.
func (m *masterView) age(now time.Duration) (age, left time.Duration) {
	if m.isSelf() {
		return 0, 0
	}
	return now - m.heard, max(0, m.until-now)
}

// caughtUp reports whether this node serves, or has applied what the master had applied as of its last heartbeat but
// one.
func (m *masterView) caughtUp(applied uint64) bool {
	return m.isSelf() || (m.node != 0 && applied >= m.applied)
}

// whyWaiting is why what waits for the master is not done in time.
func (m *masterView) whyWaiting(ready bool, tick uint64) Reason {
	if ready || (m.other() != 0 && !m.hangs(tick)) {
		return Overloaded
	}
	return NoMaster
}
