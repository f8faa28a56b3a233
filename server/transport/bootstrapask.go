package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tenure/internal/certs"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// asker asks the other listed nodes about the cluster, and founds it if this node is the founder.
type asker struct {
	*bootstrap
	sockets *sockets
	log     *rareLog
}

// reply is what one node replied in a round, with the connection it came on.
type reply struct {
	peer   wire.Address
	c      *conn // nil if err is not
	answer *wire.AnswerMsg
	cert   string // the name in its certificate, "" without TLS
	err    error
}

// run asks the other nodes, round after round, until the bootstrap is settled or cannot be.
func (a *asker) run(ctx context.Context) error {
	self := ident.Member{Node: a.cfg.Self, Store: a.cfg.Store, Name: a.ownName()}
	if len(a.cfg.List) == 1 {
		return a.adopt(newCluster(), ident.Membership{Number: 1, Members: []ident.Member{self}})
	}
	list := showList(a.cfg.List)
	a.log.Info().Str("list", list).Msg("waiting for all listed nodes, to found the cluster together")
	for {
		if err := a.round(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(jitter(bootstrapRetry))
		select {
		case <-a.settled:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for the other nodes of %s: %w", list, ctx.Err())
		case <-timer.C:
		}
	}
}

// round asks every other node once, at the same time, over fresh connections. Nil is returned also if nothing is
// settled.
func (a *asker) round(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	others := len(a.cfg.List) - 1
	replies := make(chan reply, others)
	for _, addr := range a.cfg.List {
		if addr.Node != a.cfg.Self {
			go func() { replies <- a.ask(ctx, addr) }()
		}
	}
	var open []reply
	left := others
	defer func() {
		cancel()
		for range left {
			open = append(open, <-replies)
		}
		for _, r := range open {
			if r.c != nil {
				a.sockets.drop(r.c.nc)
			}
		}
	}()
	agreed := true
	for left > 0 {
		select {
		case <-a.settled: // the founder was faster
			return nil
		case r := <-replies:
			left--
			open = append(open, r)
			if ctx.Err() != nil {
				return nil
			}
			done, err := a.evaluate(r)
			if done || err != nil {
				return err
			}
			agreed = agreed && r.err == nil && !r.answer.Over
		}
	}
	if !agreed || !a.founder(a.cfg.Self) {
		return nil
	}
	return a.found(open)
}

// ask asks one node. ctx ends it at once.
func (a *asker) ask(ctx context.Context, addr wire.Address) reply {
	r := reply{peer: addr}
	c, err := a.sockets.dial(ctx, addr.Addr)
	if err != nil {
		r.err = err
		return r
	}
	defer context.AfterFunc(ctx, func() { c.nc.SetDeadline(time.Unix(1, 0)) })()
	r.answer, r.err = exchange(c, &wire.AskMsg{From: a.cfg.Self, To: addr.Node, Store: a.cfg.Store, List: a.cfg.List})
	if r.err == nil && r.answer.Node != addr.Node {
		r.err = refuse(wire.ReasonNode,
			"the address %s, which the list gives for node %d, leads to node %d: mend --cluster",
			addr.Addr, addr.Node, r.answer.Node)
	}
	if r.err != nil {
		a.sockets.drop(c.nc)
		return r
	}
	r.c, r.cert = c, c.cert
	return r
}

// exchange sends ask and returns the answer.
func exchange(c *conn, ask *wire.AskMsg) (*wire.AnswerMsg, error) {
	if err := c.send(ask); err != nil {
		return nil, err
	}
	return expect[*wire.AnswerMsg](c)
}

// evaluate draws the conclusion from one reply. done says that the reply settles the bootstrap, an error that it rules
// the bootstrap out. With neither the bootstrap stays open.
func (a *asker) evaluate(r reply) (done bool, err error) {
	if r.err != nil {
		return false, a.evaluateFailure(r)
	}
	self, known := a.cfg.Self, r.answer
	if !known.Formed() {
		if showList(known.List) != showList(a.cfg.List) {
			return false, listsDiffer(self, a.cfg.List, known.Node, known.List)
		}
		if known.Store == a.cfg.Store {
			return false, forGood(ErrCopied, "nodes %d and %d have the same store %s: "+
				"one data directory is a copy of the other. Start one of them with an empty one.",
				self, known.Node, known.Store)
		}
		return false, nil
	}
	member, _, listed := known.Membership.Find(self)
	successor, replaced := a.successor(known.Membership)
	switch {
	case !listed && replaced:
		return false, lostPlace(r.peer.Addr, nameOf(successor), a.wiped(successor, known.Membership, source(r)))
	case !listed:
		return false, lostPlace(r.peer.Addr, "", forGood(ErrFormedElsewhere, "node %d takes no part: node %d at %s belongs to cluster %s "+
			"with membership %s, which does not list node %d. This node was started with the list %s: "+
			"if that is a mistake, mend it; otherwise have it join, in place of --id and --cluster with: %s",
			self, known.Node, r.peer.Addr, known.Cluster, known.Membership, self, showList(a.cfg.List),
			joinCommand(r.peer.Addr, nil, a.cfg.Data)))
	case member.Store != a.cfg.Store:
		return false, lostPlace(r.peer.Addr, nameOf(member), a.wiped(member, known.Membership, source(r)))
	case known.Membership.Number != 1:
		return false, forGood(ErrFormedElsewhere, "node %d takes no part: it never got its bootstrap, "+
			"and meanwhile its cluster has come to membership %s (says node %d at %s). "+
			"Start it with an empty data directory, in place of --id and --cluster with: %s",
			self, known.Membership, known.Node, r.peer.Addr, joinCommand(r.peer.Addr, &member, emptyData))
	case !sameNodes(a.cfg.List, known.Membership):
		return false, forGood(ErrLists, "node %d was started with the list %s, but the cluster %s was founded "+
			"with other nodes, membership %s, among them this one: start it with the same list",
			self, showList(a.cfg.List), known.Cluster, known.Membership)
	}
	if err := a.adopt(known.Cluster, known.Membership); err != nil {
		return false, err
	}
	return true, nil
}

// source says who has replied, for a text.
func source(r reply) string {
	return fmt.Sprintf("node %d at %s (cluster %s)", r.answer.Node, r.peer.Addr, r.answer.Cluster)
}

// successor returns the member of m that has this node's name and another store, if there is one. It came in when this
// node took its own place, under a new id, and it is that member's data that is lost now.
func (b *bootstrap) successor(m ident.Membership) (ident.Member, bool) {
	name := nameOf(ident.Member{Name: b.cfg.Name, Node: b.cfg.Self})
	for _, x := range m.All() {
		if nameOf(x) == name && x.Store != b.cfg.Store {
			return x, true
		}
	}
	return ident.Member{}, false
}

// lostPlace completes err: the place is lost, and the member at addr can be asked for the place of the node of that
// name.
func lostPlace(addr, name string, err *BootstrapError) *BootstrapError {
	err.Lost, err.Member, err.Name = true, addr, name
	return err
}

// evaluateFailure is evaluate for a node that did not answer the question.
func (a *asker) evaluateFailure(q reply) error {
	var r *Refusal
	if errors.As(q.err, &r) {
		if r.Reason == wire.ReasonRolledBack && r.ByPeer {
			return forGood(ErrRolledBack, "%s", r.Text)
		}
		a.log.refusal(ofMember(q.peer.Node), q.peer.Addr, r)
		return nil
	}
	a.log.rarely(ofMember(q.peer.Node), fmt.Sprint("bootstrap", q.peer), func() {
		a.log.Info().Uint64("peer", uint64(q.peer.Node)).Str("address", q.peer.Addr).Err(q.err).
			Msg("waiting for this node, to found the cluster")
	})
	return nil
}

func listsDiffer(a any, as []wire.Address, b any, bs []wire.Address) *BootstrapError {
	return forGood(ErrLists, "the nodes were started with different lists: node %v with %s and node %v with %s. "+
		"Start all nodes with the same --cluster.", a, showList(as), b, showList(bs))
}

// found founds the cluster: every listed node has answered in this round that it is empty and agrees. This node's own
// write comes first: once others know the cluster, their founder must not forget it.
func (a *asker) found(replies []reply) error {
	stores := map[ident.StoreID]bool{a.cfg.Store: true}
	m := ident.Membership{Number: 1}
	for _, addr := range a.cfg.List {
		x := ident.Member{Node: addr.Node, Store: a.cfg.Store, Name: a.ownName()}
		for _, r := range replies {
			if r.peer.Node != addr.Node {
				continue
			}
			x.Store, x.Name = r.answer.Store, r.cert
			if stores[x.Store] {
				return forGood(ErrCopied, "two of the nodes have the same store %s, one of them node %d: "+
					"one data directory is a copy of the other. Start one of them with an empty one.", x.Store, x.Node)
			}
			stores[x.Store] = true
		}
		for _, y := range m.Members {
			if x.Name != "" && x.Name == y.Name {
				return forGood(ErrLists, "nodes %d and %d have certificates of the same name, %s: give each its own, from: %s",
					y.Node, x.Node, x.Name, certs.CommandForNode("NAME", nil))
			}
		}
		m.Members = append(m.Members, x)
	}
	cluster := newCluster()
	if err := a.adopt(cluster, m); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, r := range replies {
		wg.Go(func() { a.tell(r, &wire.FoundMsg{Cluster: cluster, Membership: m}) })
	}
	wg.Wait()
	return nil
}

// tell sends the result to one node. If it does not arrive, that node learns of it when it next asks.
func (a *asker) tell(r reply, m *wire.FoundMsg) {
	r.c.nc.SetDeadline(time.Now().Add(a.sockets.handshake))
	err := r.c.send(m)
	if err == nil {
		_, err = expect[*wire.FormedMsg](r.c)
	}
	if err != nil {
		a.log.Warn().Uint64("peer", uint64(r.peer.Node)).Err(err).
			Msg("the cluster is founded, but this node has not confirmed it; it will be told when it asks")
	}
}
