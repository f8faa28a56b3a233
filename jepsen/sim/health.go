package sim

import (
	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/wire"
)

// The shell's part of M6: words of health on the lease connections, and the release of a lease whose holder gets
// nowhere.

// sendHealth sends a word of health. It may be lost and be late like any lease message.
func (w *world) sendHealth(from *node, id ballot.NodeID, h replica.Health) {
	to := w.node(id)
	if w.phase == phaseFaults && w.plan.on(Drop) && w.words.chance(w.plan.dropping) {
		w.effect(Drop)
		return
	}
	if !to.up() {
		return
	}
	p := w.pack(wire.AppendFrame(nil, wire.EncodeHealth(&h)))
	d := w.plan.hop + w.words.between(0, w.plan.hop/4)
	if w.phase == phaseFaults && w.plan.on(Reorder) {
		d += w.words.between(0, w.plan.jitter)
	}
	w.at(to, kindHealth, d, func() {
		if !w.passes(from, to) || !w.admits(from, to) {
			return
		}
		body, ok := w.open(p, wire.MaxLeaseBytes)
		if !ok {
			return
		}
		h := w.decodeLease(from, to, body).Health
		if w.trace.on() {
			w.trace.note("node %d says of itself %+v", from.id, *h)
		}
		to.healths[from.i] = h
	})
}

// hearHealth hands the words that have come to the driver.
func (n *node) hearHealth() {
	p := n.process
	for i := range p.healths {
		if h := p.healths[i]; h != nil {
			p.healths[i] = nil
			p.round.Add(&replica.Event{Health: h, From: n.w.nodes[i].id})
		}
	}
}

// deliverProgress sends this node's health, and asks the lease loop for the release that the log part wants.
func (n *node) deliverProgress(out *replica.Output) {
	p := n.process
	if out.Health != nil {
		for _, o := range n.w.nodes {
			if o != n {
				n.w.sendHealth(n, o.id, *out.Health)
			}
		}
	}
	if out.LetGo.Tenure != 0 {
		p.standing = p.log.Standing(p.now)
		n.leaseInput(leaseEvent{letGo: out.LetGo})
	}
}
