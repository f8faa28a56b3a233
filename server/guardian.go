package server

import "tenure/server/guardian"

// guard is this node's guardian (P7), if it has one.
type guard struct {
	process *guardian.Process
	why     string // there is none
}

// startGuardian comes before the loops, and so before the first Accept. A node without a guardian is a sound node.
func (n *node) startGuardian(p *parts) *guard {
	switch {
	case len(n.cfg.Guardian) == 0:
		return &guard{why: n.cfg.NoGuardian}
	case len(p.peers) == 0:
		return &guard{why: "a cluster of one needs none"}
	}
	plan := guardian.Plan{Cluster: p.identity.Cluster, Store: p.identity.Store, Owner: n.self}
	for _, id := range p.peers {
		if a := n.addresses[id]; a != "" {
			plan.Peers = append(plan.Peers, guardian.Peer{Node: id, Addr: a})
		}
	}
	k, err := guardian.Start(guardian.Config{Command: n.cfg.Guardian, Plan: plan, Log: n.log})
	if err != nil {
		n.log.Warn().Err(err).Msg("no guardian: a crash costs the rest of the lease")
		return &guard{why: err.Error()}
	}
	n.log.Info().Int("pid", k.State().PID).Msg("the guardian runs")
	return &guard{process: k}
}

// Note shows the guardian the ballots that it would have to release.
func (g *guard) Note(counters []uint64) {
	if g.process != nil {
		g.process.Note(counters)
	}
}

func (g *guard) state() guardian.State {
	if g.process == nil {
		return guardian.State{Problem: g.why}
	}
	return g.process.State()
}

// close ends the guardian of a node that stops in order. One that has something left to say is left alone.
func (g *guard) close() {
	if g.process != nil {
		_ = g.process.Close() // the process ends with what could not be given back
	}
}
