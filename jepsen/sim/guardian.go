package sim

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/lease"
)

// guardians are the processes that release the lease of a node's process that has died (P7).
type guardians struct {
	*engine
	random random
	net    *network
}

// crash is what a guardian says to a peer.
type crash struct {
	store    ident.StoreID
	owner    ballot.Incarnation
	counters []uint64
}

// died starts the guardian of a process that has just died, with the ballots noted last. It may die too. The kernel
// tells it when the process' memory has been given back; by then the node may run again.
func (g *guardians) died(n *endpoint, owner ballot.Incarnation, noted []uint64) {
	if !g.plan.on(Guardian) || len(noted) == 0 || g.random.chance(100) {
		return
	}
	word := &crash{store: n.drive.store, owner: owner, counters: slices.Clone(noted)}
	g.at(nil, kindFault, g.random.skewed(100*time.Microsecond, g.plan.lease), func() {
		state := new(lease.Guardian)
		state.Died(g.now)
		g.speak(n, state, word)
	})
}

// speak tells all peers, and again until the guardian has nothing more to say.
func (g *guardians) speak(n *endpoint, state *lease.Guardian, word *crash) {
	if state.Due(g.now) {
		state.Sent()
		g.tellAll(n, word)
	}
	if at, more := state.Next(); more {
		g.at(nil, kindFault, at-g.now, func() { g.speak(n, state, word) })
	}
}

func (g *guardians) tellAll(n *endpoint, word *crash) {
	for _, to := range g.net.nodes {
		if to != n {
			g.net.sendCrash(n, to, word)
		}
	}
}

// tempt gives the guardian of a process that lives the occasion to speak. It must not take it.
func (g *guardians) tempt(n *endpoint, owner ballot.Incarnation, noted []uint64) {
	var state lease.Guardian
	if len(noted) > 0 && state.Due(g.now) {
		g.tellAll(n, &crash{store: n.drive.store, owner: owner, counters: slices.Clone(noted)})
	}
}
