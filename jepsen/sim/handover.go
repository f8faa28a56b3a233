package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
)

// handOver is a master's hand-over, or a node's orderly stop, in the order of the shell.
type handOver struct {
	standBack time.Duration
	forGood   bool
	next      ballot.NodeID // hint, 0: none
	until     time.Duration // true time: what is in flight may finish until then
}

func (h *handOver) why() replica.Cause {
	if h.forGood {
		return replica.CauseStopping
	}
	return replica.CauseHandedOver
}

const (
	finishFor      = 100 * time.Millisecond
	standBackLease = 4 // lease times
)

// handOver begins one.
func (n *node) handOver(next ballot.NodeID, forGood bool) {
	if !n.up() || n.hand != nil {
		return
	}
	h := &handOver{standBack: standBackLease * n.w.plan.lease, forGood: forGood, next: next, until: n.w.now + finishFor}
	n.hand = h
	n.input(input{call: func() {
		if forGood {
			n.log.Stop()
			if n.named.part != nil {
				n.namedInput(namedEvent{stop: true})
			}
		} else {
			n.log.HandOver()
		}
	}})
	n.w.at(n, kindHand, time.Millisecond, func() { h.wait(n) })
}

// wait lets what is in flight finish, then steps down and has the lease released.
func (h *handOver) wait(n *node) {
	if n.w.now < h.until && !n.log.Idle() {
		n.w.at(n, kindHand, time.Millisecond, func() { h.wait(n) })
		return
	}
	n.input(input{call: func() {
		n.log.StepDown(n.reading())
		n.w.at(n, kindHand, 0, func() { n.leaseInput(leaseEvent{release: h}) })
	}})
}

// released goes on after the Release messages were sent: the process takes work again, or ends.
func (h *handOver) released(n *node) {
	if !h.forGood {
		n.hand = nil
		n.input(input{call: func() { n.log.Resume() }})
		return
	}
	n.w.at(n, kindHand, time.Millisecond, func() {
		n.crash()
		n.restart(n.random.skewed(time.Millisecond, time.Second), false)
	})
}
