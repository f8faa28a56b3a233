package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// handOver is a master's hand-over, or a node's orderly stop, in the order of the runner.
type handOver struct {
	node      *node
	standBack time.Duration
	forGood   bool
	next      ballot.NodeID // hint, 0: none
	until     time.Duration // true time: what is in flight may finish until then
}

func (h *handOver) why() elector.Cause {
	if h.forGood {
		return elector.CauseStopping
	}
	return elector.CauseHandedOver
}

// handOver begins a hand-over to next, or to anybody if next is 0; or, with forGood, an orderly stop.
func (n *node) handOver(next ballot.NodeID, forGood bool) {
	if !n.up() || n.hand != nil {
		return
	}
	h := &handOver{node: n, standBack: replica.StandBackLeases * n.plan.lease, forGood: forGood, next: next,
		until: n.now + replica.FinishFor}
	n.hand = h
	n.log.put(input{call: h.begin})
	n.later(kindHand, time.Millisecond, h.wait)
}

// begin has the log part take no new work.
func (h *handOver) begin() {
	n := h.node
	n.log.log.HandOver(!h.forGood)
	if h.forGood && n.leases != nil {
		n.leases.put(namedEvent{stop: true})
	}
}

// wait lets what is in flight finish, then steps down and has the lease released.
func (h *handOver) wait() {
	n := h.node
	if n.now < h.until && !n.log.log.Idle() {
		n.later(kindHand, time.Millisecond, h.wait)
		return
	}
	n.log.put(input{call: func() {
		n.log.log.StepDown(n.reading())
		n.later(kindHand, 0, func() { n.elector.put(leaseEvent{release: h}) })
	}})
}

// released goes on after the Release messages were sent: the process takes work again, or ends.
func (h *handOver) released() {
	n := h.node
	if !h.forGood {
		n.hand = nil
		n.log.put(input{call: n.log.log.Resume})
		return
	}
	n.later(kindHand, time.Millisecond, func() {
		n.crash()
		n.restart(n.random.skewed(time.Millisecond, time.Second), false)
	})
}
