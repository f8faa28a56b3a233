package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// handOver is a master's hand-over, or a node's orderly stop.
type handOver struct {
	replica.Handover
	node    *node
	release *elector.Release // nil: it is not released yet
}

// handOver begins a hand-over to next, or to anybody if next is 0; or, with CauseStopping, an orderly stop.
func (n *node) handOver(next ballot.NodeID, why elector.Cause) {
	if !n.up() || n.hand != nil {
		return
	}
	n.hand = &handOver{Handover: replica.Handover{Next: next, Why: why}, node: n}
	if !n.hand.Stays() && n.leases != nil {
		n.leases.put(namedEvent{stop: true})
	}
	n.hand.step()
}

// step has a round of the log loop take the next step, until the lease is to be released.
func (h *handOver) step() {
	n := h.node
	n.log.put(input{call: func() {
		if h.release = h.Step(n.log.log, n.reading()); h.release == nil {
			n.later(kindHand, replica.HandoverEvery, h.step)
			return
		}
		n.later(kindHand, 0, func() { n.elector.put(leaseEvent{release: h}) })
	}})
}

// released goes on after the Release messages were sent: the process takes work again, or ends.
func (h *handOver) released() {
	n := h.node
	if h.Stays() {
		n.hand = nil
		n.log.put(input{call: n.log.log.Resume})
		return
	}
	n.later(kindHand, time.Millisecond, func() {
		n.crash()
		n.restart(n.random.skewed(time.Millisecond, time.Second), false)
	})
}
