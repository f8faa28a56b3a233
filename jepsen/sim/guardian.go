package sim

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/lease"
	"tenure/server/wire"
)

// crash is a guardian's word to one peer.
type crash struct {
	store    ident.StoreID
	owner    ballot.Incarnation
	counters []uint64
}

// orphan is what a process that has just died leaves behind: a guardian with what was noted last. It may die too. The
// kernel's word comes when the process' memory has been given back; by then the node may run again.
func (n *node) orphan(p *process) {
	w := n.w
	if !w.plan.on(Guardian) || len(p.noted) == 0 || w.guardians.chance(100) {
		return
	}
	word := &crash{store: n.disk.store, owner: p.self, counters: slices.Clone(p.noted)}
	w.at(nil, kindFault, w.guardians.skewed(100*time.Microsecond, w.plan.lease), func() {
		g := new(lease.Guardian)
		g.Died(w.now)
		n.speak(g, word)
	})
}

// speak goes on until the guardian has nothing more to say.
func (n *node) speak(g *lease.Guardian, word *crash) {
	w := n.w
	if g.Due(w.now) {
		g.Sent()
		n.tellAll(word)
	}
	if at, more := g.Next(); more {
		w.at(nil, kindFault, at-w.now, func() { n.speak(g, word) })
	}
}

func (n *node) tellAll(word *crash) {
	for _, o := range n.w.nodes {
		if o != n {
			n.w.sendAlone(n, o, encodeCrash(o, word), wire.MaxHandshakeBytes, o.crashEvent)
		}
	}
}

// askGuardian gives the guardian of a process that lives the occasion to speak. It must not take it.
func askGuardian(w *world, r *random) {
	n := w.victim(r)
	var g lease.Guardian
	if n.up() && len(n.noted) > 0 && g.Due(w.now) {
		n.tellAll(&crash{store: n.disk.store, owner: n.self, counters: slices.Clone(n.noted)})
	}
}
