package server

import (
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/guardian"
	"tenure/server/replica"
)

// guard is this node's guardian (P7), if it has one.
type guard struct {
	keeper *guardian.Keeper
	why    string        // there is none
	here   atomic.Uint64 // records cleared here at the word of peers' guardians
}

// startGuardian comes before the loops, and so before the first Accept. A node without a guardian is a sound node.
func (n *Node) startGuardian() {
	switch {
	case len(n.cfg.Guardian) == 0:
		n.guard.why = n.cfg.NoGuardian
		return
	case len(n.peers) == 0:
		n.guard.why = "a cluster of one needs none"
		return
	}
	plan := guardian.Plan{Cluster: n.store.Identity().Cluster, Store: n.store.Identity().Store, Owner: n.self}
	for _, p := range n.peers {
		if a := n.addresses[p]; a != "" {
			plan.Peers = append(plan.Peers, guardian.Peer{Node: p, Addr: a})
		}
	}
	k, err := guardian.Keep(guardian.Config{Command: n.cfg.Guardian, Plan: plan, Log: n.log})
	if err != nil {
		n.guard.why = err.Error()
		n.log.Warn().Err(err).Msg("no guardian: a crash costs the rest of the lease")
		return
	}
	n.guard.keeper = k
	n.log.Info().Int("pid", k.State().PID).Msg("the guardian runs")
}

// noteBallots is P7's order: what is about to leave is in the guardian's page before it does.
func (n *Node) noteBallots(now time.Duration) {
	if n.guard.keeper != nil {
		n.noted = n.elector.AppendNoted(n.noted[:0], now)
		n.guard.keeper.Note(n.noted)
	}
}

// CrashReleased takes the word of a peer's guardian.
func (n *Node) CrashReleased(owner ballot.Incarnation, counters []uint64) {
	select {
	case n.leaseIn <- leaseEvent{ElectorEvent: replica.ElectorEvent{Crash: &replica.Crash{Owner: owner, Counters: counters}}}:
	default:
		n.metrics.droppedLease.Inc()
	}
}

// close ends the guardian of a node that stops in order. One that has something left to say is left alone.
func (g *guard) close() {
	if g.keeper != nil {
		_ = g.keeper.Close() // the process ends with what could not be given back
	}
}

func (g *guard) status() guardian.State {
	if g.keeper == nil {
		return guardian.State{Problem: g.why}
	}
	return g.keeper.State()
}

func (n *Node) guardStatus() api.Guardian {
	s := n.guard.status()
	return api.Guardian{PID: s.PID, Problem: s.Problem, ReleasedHere: n.guard.here.Load()}
}
