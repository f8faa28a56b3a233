package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// Why a node cannot come into a cluster. Each is wrapped in a BootstrapError whose text is for the user.
var (
	// ErrLists: two nodes were started with different lists.
	ErrLists = errors.New("different lists")
	// ErrWiped: the cluster knows this node id with another store.
	ErrWiped = errors.New("wiped or foreign data directory")
	// ErrFormedElsewhere: a listed node is in a cluster that does not know this node.
	ErrFormedElsewhere = errors.New("cluster formed without this node")
	// ErrRolledBack: this store took part in the cluster before, and has forgotten that.
	ErrRolledBack = errors.New("data directory was rolled back")
	// ErrCopied: two nodes have the same store.
	ErrCopied = errors.New("data directory was copied")
)

// BootstrapError says for good why this node takes no part: trying again without a human's help is of no use.
type BootstrapError struct {
	Kind error // one of the above
	Text string
}

// Error is the text for the user.
func (e *BootstrapError) Error() string { return e.Text }

// Unwrap is Kind.
func (e *BootstrapError) Unwrap() error { return e.Kind }

func forGood(kind error, format string, args ...any) *BootstrapError {
	return &BootstrapError{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// BootstrapConfig is what a node brings to its bootstrap. The functions are called one at a time, Formed also after
// Bootstrap has returned.
type BootstrapConfig struct {
	Self  ballot.NodeID
	Store ident.StoreID
	List  []wire.Address // the static list, this node included; an address only matters if there are several nodes
	// Formed is the durable cluster and membership of this store, if it has them. It answers from memory.
	Formed func() (ident.ClusterID, ident.Membership, bool)
	// Found makes them durable, and is called at most once. When it has returned nil, Formed tells them.
	Found func(ident.ClusterID, ident.Membership) error
}

// Validate says what is wrong with c, if anything.
func (c *BootstrapConfig) Validate() error {
	list := sorted(c.List)
	if err := errors.Join(wire.CheckNode(c.Self), wire.CheckStore(c.Store), wire.CheckList(list)); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if !slices.ContainsFunc(list, func(a wire.Address) bool { return a.Node == c.Self }) {
		return fmt.Errorf("%w: node %d is not in its own list %s", ErrConfig, c.Self, showList(list))
	}
	if len(list) > 1 {
		for _, a := range list {
			if err := checkAddr(a.Addr); err != nil {
				return fmt.Errorf("%w: address of node %d: %w", ErrConfig, a.Node, err)
			}
		}
	}
	if c.Formed == nil || c.Found == nil {
		return fmt.Errorf("%w: bootstrap without storage", ErrConfig)
	}
	return nil
}

// bootstrap is this node's part in the founding of its cluster, and afterwards what it tells those who ask.
type bootstrap struct {
	cfg BootstrapConfig // List is sorted

	mu   sync.Mutex
	open bool // Bootstrap is waiting: this run may take part
	// claim is the store for which connections of a founder are held, so that two processes with the founder's id
	// cannot both count on this node. Nothing is claimed when holders is 0.
	claim   ident.StoreID
	holders int

	// What came of it, set before settled is closed.
	settled    chan struct{}
	cluster    ident.ClusterID
	membership ident.Membership
	err        error
}

// founder tells whether node has the lowest id of the list, and so collects and founds.
func (g *bootstrap) founder(node ballot.NodeID) bool { return g.cfg.List[0].Node == node }

// Bootstrap is this node's cluster and membership. A node that has them gets them back at once; otherwise it takes
// part in the founding of the cluster, and waits for the other listed nodes as long as ctx lasts:
//
//   - All unformed nodes ask all listed ones. The node with the lowest id founds the cluster when it holds, from one
//     round of fresh connections, an answer of every listed node: each empty, each with the same list. It draws the
//     cluster id, makes membership 1 durable and then sends it to the others.
//   - A node takes a membership only while it waits here, only once, and only if its own store is in it. It does not
//     matter who tells it: so a founder that crashed after its own write, or before it told everybody, holds up
//     nobody once any formed node answers.
//   - A node that is formed says so to all who ask, which tells a wiped node that it was wiped.
//
// fresh is true only if this very run made the membership durable: only then can there be no older promise of this
// store, and only such a run may go without quarantine (A4).
//
// An error is ctx's, ErrClosed, ErrConfig, what Found returned, or a *BootstrapError, which is final. It is called
// once.
func (t *Transport) Bootstrap(ctx context.Context, cfg BootstrapConfig) (_ ident.ClusterID, _ ident.Membership, fresh bool, _ error) {
	if err := cfg.Validate(); err != nil {
		return ident.ClusterID{}, ident.Membership{}, false, err
	}
	cfg.List = sorted(cfg.List)
	if len(cfg.List) > 1 && t.listener == nil {
		return ident.ClusterID{}, ident.Membership{}, false, fmt.Errorf("%w: a cluster of %d needs a peer address", ErrConfig, len(cfg.List))
	}
	g := &bootstrap{cfg: cfg, settled: make(chan struct{})}
	cluster, membership, formed := cfg.Formed()
	g.open = !formed
	if !t.bootstrap.CompareAndSwap(nil, g) {
		panic("transport: Bootstrap called twice")
	}
	if formed {
		return cluster, membership, false, g.checkOwn(membership)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	err := t.found(ctx, g)
	if err != nil && t.ctx.Err() != nil {
		err = ErrClosed
	}
	return g.leave(err)
}

// checkOwn makes sure that this node may take part in the cluster it belongs to.
func (g *bootstrap) checkOwn(m ident.Membership) error {
	store, listed := storeOf(m, g.cfg.Self)
	switch {
	case !listed:
		return forGood(ErrFormedElsewhere, "node %d takes no part: its data directory belongs to a cluster with membership %s, which does not list it: "+
			"start it with the --id it had, or with another --data", g.cfg.Self, m)
	case store != g.cfg.Store:
		return g.wiped(m, "its own data directory")
	}
	return nil
}

// wiped is what a node is told whose store is not the one that the membership lists for it.
func (g *bootstrap) wiped(m ident.Membership, source string) error {
	store, _ := storeOf(m, g.cfg.Self)
	return forGood(ErrWiped, "node %d takes no part: its data directory is new or another one's (store %s), while membership %d of its cluster, says %s, "+
		"has store %s for node %d. A node that has lost its disk must not vote, since it has forgotten what it promised. "+
		"If the old data directory still exists, start the node with it. Otherwise its id %d cannot be used again: it has to be removed from the "+
		"cluster and added under a new id, once members can be changed; until then the other members go on without it.",
		g.cfg.Self, g.cfg.Store, m.Number, source, store, g.cfg.Self, g.cfg.Self)
}

// adopt makes a membership durable, whoever it came from, if this node may take it.
func (g *bootstrap) adopt(cluster ident.ClusterID, m ident.Membership) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	if c, have, ok := g.cfg.Formed(); ok {
		if c == cluster && have.Number == m.Number && slices.Equal(have.Members, m.Members) {
			return nil
		}
		return refuse(wire.ReasonBootstrap, "node %d is in cluster %s with membership %s already: it does not take cluster %s with membership %s",
			g.cfg.Self, c, have, cluster, m)
	}
	switch {
	case !g.open:
		return refuse(wire.ReasonNotReady, "node %d does not wait for a bootstrap any more: see its log, and start it again", g.cfg.Self)
	case m.Number != 1 || !sameNodes(g.cfg.List, m) || !m.Lists(g.cfg.Self, g.cfg.Store):
		return refuse(wire.ReasonBootstrap, "node %d was started with the list %s and store %s: it does not take cluster %s with membership %s",
			g.cfg.Self, showList(g.cfg.List), g.cfg.Store, cluster, m)
	}
	g.open = false
	g.cluster, g.membership = cluster, m
	if err := g.cfg.Found(cluster, m); err != nil {
		g.err = fmt.Errorf("make the bootstrap of cluster %s durable: %w", cluster, err)
	}
	close(g.settled)
	return g.err
}

// leave ends this run's chance to take part, and is what came of it. Success beats an error that came at the same
// time: the membership is on disk.
func (g *bootstrap) leave(err error) (ident.ClusterID, ident.Membership, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
	select {
	case <-g.settled:
		err = g.err
	default:
	}
	if err != nil {
		return ident.ClusterID{}, ident.Membership{}, false, err
	}
	return g.cluster, g.membership, true, nil
}

// hold reserves this node for a founder while its connection lasts; false: another process is founding.
func (g *bootstrap) hold(founder ident.StoreID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holders > 0 && g.claim != founder {
		return false
	}
	g.claim = founder
	g.holders++
	return true
}

func (g *bootstrap) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holders--
}

// formed is what this store belongs to, as far as others may be told: a write that failed may or may not be durable,
// and the next run will know.
func (g *bootstrap) formed() (ident.ClusterID, ident.Membership, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return ident.ClusterID{}, ident.Membership{}, false
	}
	return g.cfg.Formed()
}

// waiting tells whether this run may still take part.
func (g *bootstrap) waiting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

func newCluster() ident.ClusterID {
	var c ident.ClusterID
	rand.Read(c[:]) // never fails
	return c
}
