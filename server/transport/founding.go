package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tenure/internal/ident"
	"tenure/server/wire"
)

// question is one node's answer in a round, with the connection it came on.
type question struct {
	peer   wire.Address
	c      *conn // nil if err is not
	answer *wire.AnswerMsg
	err    error
}

// found asks the other nodes, round after round, until the bootstrap is settled or cannot be.
func (t *Transport) found(ctx context.Context, g *bootstrap) error {
	self := ident.Member{Node: g.cfg.Self, Store: g.cfg.Store}
	if len(g.cfg.List) == 1 {
		return g.adopt(newCluster(), ident.Membership{Number: 1, Members: []ident.Member{self}})
	}
	t.cfg.Log.Info().Str("list", showList(g.cfg.List)).Msg("waiting for all listed nodes, to found the cluster together")
	for {
		if err := t.round(ctx, g); err != nil {
			return err
		}
		timer := time.NewTimer(jitter(bootstrapRetry))
		select {
		case <-g.settled:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for the other nodes of %s: %w", showList(g.cfg.List), ctx.Err())
		case <-timer.C:
		}
	}
}

// round asks every other node once, at the same time, over fresh connections. nil settles nothing.
func (t *Transport) round(ctx context.Context, g *bootstrap) error {
	ctx, cancel := context.WithCancel(ctx)
	others := len(g.cfg.List) - 1
	answers := make(chan question, others)
	for _, a := range g.cfg.List {
		if a.Node != g.cfg.Self {
			go func() { answers <- t.ask(ctx, g, a) }()
		}
	}
	var open []question
	left := others
	defer func() {
		cancel()
		for range left {
			open = append(open, <-answers)
		}
		for _, q := range open {
			if q.c != nil {
				t.drop(q.c.nc)
			}
		}
	}()
	agreed := true
	for left > 0 {
		select {
		case <-g.settled: // the founder was faster
			return nil
		case q := <-answers:
			left--
			open = append(open, q)
			if ctx.Err() != nil {
				return nil
			}
			done, err := t.weigh(g, q)
			if done || err != nil {
				return err
			}
			agreed = agreed && q.err == nil && !q.answer.Over
		}
	}
	if !agreed || !g.founder(g.cfg.Self) {
		return nil
	}
	return t.proclaim(g, open)
}

// ask puts the question to one node. ctx ends it at once.
func (t *Transport) ask(ctx context.Context, g *bootstrap, a wire.Address) question {
	q := question{peer: a}
	c, err := t.dial(ctx, a.Addr)
	if err != nil {
		q.err = err
		return q
	}
	defer context.AfterFunc(ctx, func() { c.nc.SetDeadline(time.Unix(1, 0)) })()
	q.answer, q.err = t.exchange(c, &wire.AskMsg{From: g.cfg.Self, To: a.Node, Store: g.cfg.Store, List: g.cfg.List})
	if q.err == nil && q.answer.Node != a.Node {
		q.err = refuse(wire.ReasonNode, "the address %s, which the list gives for node %d, leads to node %d: mend --cluster", a.Addr, a.Node, q.answer.Node)
	}
	if q.err != nil {
		t.drop(c.nc)
		return q
	}
	q.c = c
	return q
}

func (t *Transport) exchange(c *conn, ask *wire.AskMsg) (*wire.AnswerMsg, error) {
	if err := c.send(ask); err != nil {
		return nil, err
	}
	m, err := c.receive()
	var v *wire.VersionError
	if errors.As(err, &v) {
		err = t.versionRefusal(c, v)
	}
	if err != nil {
		return nil, err
	}
	answer, ok := m.(*wire.AnswerMsg)
	if !ok {
		return nil, unexpected(m)
	}
	return answer, nil
}

// weigh draws what follows from one answer: done if it settles the bootstrap, an error if it rules it out, neither if
// it leaves it open.
func (t *Transport) weigh(g *bootstrap, q question) (done bool, err error) {
	if q.err != nil {
		return false, t.weighFailure(q)
	}
	self, a := g.cfg.Self, q.answer
	if !a.Formed() {
		if showList(a.List) != showList(g.cfg.List) {
			return false, listsDiffer(self, g.cfg.List, a.Node, a.List)
		}
		if a.Store == g.cfg.Store {
			return false, forGood(ErrCopied, "nodes %d and %d have the same store %s: one data directory is a copy of the other. Start one of them with an empty one.",
				self, a.Node, a.Store)
		}
		return false, nil
	}
	store, listed := storeOf(a.Membership, self)
	switch {
	case !listed:
		return false, forGood(ErrFormedElsewhere, "node %d takes no part: node %d at %s belongs to cluster %s with membership %s, which does not list node %d. "+
			"This node was started with the list %s: if that is a mistake, mend it; otherwise node %d has to be added to the cluster, once members can be changed.",
			self, a.Node, q.peer.Addr, a.Cluster, a.Membership, self, showList(g.cfg.List), self)
	case store != g.cfg.Store:
		return false, g.wiped(a.Membership, fmt.Sprintf("node %d at %s (cluster %s)", a.Node, q.peer.Addr, a.Cluster))
	case a.Membership.Number != 1:
		return false, forGood(ErrFormedElsewhere, "node %d takes no part: it never got its bootstrap, and meanwhile its cluster has come to membership %s (says node %d at %s): "+
			"it has to be removed and added under a new id, once members can be changed", self, a.Membership, a.Node, q.peer.Addr)
	case !sameNodes(g.cfg.List, a.Membership):
		return false, forGood(ErrLists, "node %d was started with the list %s, but the cluster %s was founded with other nodes, membership %s, among them this one: start it with the same list",
			self, showList(g.cfg.List), a.Cluster, a.Membership)
	}
	if err := g.adopt(a.Cluster, a.Membership); err != nil {
		return false, err
	}
	return true, nil
}

// weighFailure tells what a node that did not answer the question means.
func (t *Transport) weighFailure(q question) error {
	var r *Refusal
	if errors.As(q.err, &r) {
		if r.Reason == wire.ReasonRolledBack && r.ByPeer {
			return forGood(ErrRolledBack, "%s", r.Text)
		}
		t.logRefusal(q.peer.Addr, r)
		return nil
	}
	t.complain(fmt.Sprint("genesis", q.peer), func() {
		t.cfg.Log.Info().Uint64("peer", uint64(q.peer.Node)).Str("address", q.peer.Addr).Err(q.err).
			Msg("waiting for this node, to found the cluster")
	})
	return nil
}

func listsDiffer(a any, as []wire.Address, b any, bs []wire.Address) *BootstrapError {
	return forGood(ErrLists, "the nodes were started with different lists: node %v with %s and node %v with %s. Start all nodes with the same --cluster.",
		a, showList(as), b, showList(bs))
}

// proclaim founds the cluster: every listed node has answered in this round that it is empty and agrees. The
// founder's own write comes first: once others know the cluster, the founder must not forget it.
func (t *Transport) proclaim(g *bootstrap, answers []question) error {
	stores := map[ident.StoreID]bool{g.cfg.Store: true}
	m := ident.Membership{Number: 1}
	for _, a := range g.cfg.List {
		x := ident.Member{Node: a.Node, Store: g.cfg.Store}
		for _, q := range answers {
			if q.peer.Node == a.Node {
				x.Store = q.answer.Store
				if stores[x.Store] {
					return forGood(ErrCopied, "two of the nodes have the same store %s, one of them node %d: one data directory is a copy of the other. Start one of them with an empty one.",
						x.Store, x.Node)
				}
				stores[x.Store] = true
			}
		}
		m.Members = append(m.Members, x)
	}
	cluster := newCluster()
	if err := g.adopt(cluster, m); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, q := range answers {
		wg.Go(func() { t.bring(q, cluster, m) })
	}
	wg.Wait()
	return nil
}

// bring sends the bootstrap to one node. If it does not arrive, that node learns of it when it next asks.
func (t *Transport) bring(q question, cluster ident.ClusterID, m ident.Membership) {
	q.c.nc.SetDeadline(time.Now().Add(t.cfg.HandshakeTimeout))
	err := q.c.send(&wire.FoundMsg{Cluster: cluster, Membership: m})
	if err == nil {
		var reply wire.HandshakeMsg
		if reply, err = q.c.receive(); err == nil {
			if _, ok := reply.(*wire.FormedMsg); !ok {
				err = unexpected(reply)
			}
		}
	}
	if err != nil {
		t.cfg.Log.Warn().Uint64("peer", uint64(q.peer.Node)).Err(err).
			Msg("the cluster is founded, but this node has not confirmed it; it will be told when it asks")
	}
}
