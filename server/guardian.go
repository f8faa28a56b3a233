package server

import (
	"slices"
	"sync/atomic"

	"tenure/internal/ident"
	"tenure/server/guardian"
	"tenure/server/members"
	"tenure/server/runner"
)

// guard is this node's guardian (P7), if it has one. A node without a guardian is a sound node.
type guard struct {
	cfg     guardian.Config // without peers
	members *runner.Members

	process atomic.Pointer[guardian.Process] // nil: none runs
	why     atomic.Pointer[string]           // none runs
	closed  bool                             // of follow and close, which are called one after the other
}

// newGuard comes before the loops, and so before the first Accept.
func (n *node) newGuard(p *parts, members *runner.Members) *guard {
	g := &guard{members: members}
	if len(n.cfg.Guardian) == 0 {
		g.none(n.cfg.NoGuardian)
		g.closed = true
		return g
	}
	g.cfg = guardian.Config{Command: n.cfg.Guardian, Log: n.log,
		Plan: guardian.Plan{Cluster: p.identity.Cluster, Store: p.identity.Store, Owner: n.self, TLS: n.cfg.TLS.Peers,
			Revoked: n.cfg.TLS.CRL}}
	g.follow(nil)
	return g
}

func (g *guard) none(why string) { g.why.Store(&why) }

// follow has the guardian speak to the members of now and, until its next call, to those of before: their acceptors may
// still have a record of this run.
func (g *guard) follow(before []ident.Member) {
	if g.closed {
		return
	}
	peers := g.peers(before)
	if k := g.process.Load(); k != nil {
		if err := k.Follow(peers); err != nil {
			g.cfg.Log.Warn().Err(err).Msg("the guardian speaks to the members of before: if this node crashes, " +
				"it may cost the rest of the lease")
		}
		return
	}
	if len(peers) == 0 {
		g.none("a cluster of one needs none")
		return
	}
	g.cfg.Plan.Peers = peers
	k, err := guardian.Start(g.cfg)
	if err != nil {
		g.cfg.Log.Warn().Err(err).Msg("no guardian: a crash costs the rest of the lease")
		g.none(err.Error())
		return
	}
	g.cfg.Log.Info().Int("pid", k.State().PID).Msg("the guardian runs")
	g.process.Store(k)
}

// peers are the other voters of now and of before with their addresses.
func (g *guard) peers(before []ident.Member) (peers []guardian.Peer) {
	for _, x := range slices.Concat(g.members.Load().Members, before) {
		a := g.members.Address(x.Node)
		if a == "" {
			a = x.PeerAddr
		}
		known := slices.ContainsFunc(peers, func(p guardian.Peer) bool { return p.Node == x.Node })
		if a != "" && !known && x.Node != g.cfg.Plan.Owner.Node {
			peers = append(peers, guardian.Peer{Node: x.Node, Addr: a, Name: members.NameOf(x)})
		}
	}
	return peers
}

// Note shows the guardian the ballots that it would have to release.
func (g *guard) Note(counters []uint64) {
	if k := g.process.Load(); k != nil {
		k.Note(counters)
	}
}

func (g *guard) state() guardian.State {
	if k := g.process.Load(); k != nil {
		return k.State()
	}
	return guardian.State{Problem: *g.why.Load()}
}

// close ends the guardian of a node that stops in order. One that has something left to say is left alone.
func (g *guard) close() {
	g.closed = true
	if k := g.process.Load(); k != nil {
		_ = k.Close() // the process ends with what could not be given back
	}
}
