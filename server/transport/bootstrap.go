package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// Why a node cannot take part in a cluster. Each is wrapped in a BootstrapError whose text is for the user.
var (
	// ErrLists: two nodes were started with different lists.
	ErrLists = errors.New("different lists")
	// ErrWiped: the cluster knows this node id with another store.
	ErrWiped = errors.New("wiped or foreign data directory")
	// ErrFormedElsewhere: a listed node is in a cluster that does not know this node.
	ErrFormedElsewhere = errors.New("cluster formed without this node")
	// ErrRemoved: this node was a member, and was removed.
	ErrRemoved = errors.New("removed from the cluster")
	// ErrRolledBack: this store took part in the cluster before, and has forgotten that.
	ErrRolledBack = errors.New("data directory was rolled back")
	// ErrCopied: two nodes have the same store.
	ErrCopied = errors.New("data directory was copied")
)

// BootstrapError says why this node cannot take part, for good: trying again without a human's help is of no use.
type BootstrapError struct {
	Kind error // one of the above
	Text string
	// Lost: this node's place is lost with its data directory, or another node has it. Then Member is the address of
	// the reporting member, and Name is the cluster's name for the node of this id, if it still lists it.
	Lost         bool
	Member, Name string
}

// Error returns the text for the user.
func (e *BootstrapError) Error() string { return e.Text }

// Unwrap returns Kind.
func (e *BootstrapError) Unwrap() error { return e.Kind }

func forGood(kind error, format string, args ...any) *BootstrapError {
	return &BootstrapError{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// BootstrapConfig is what a node brings to its bootstrap. The functions are called one at a time, Formed also after
// Bootstrap has returned.
type BootstrapConfig struct {
	Self  ballot.NodeID
	Store ident.StoreID
	Name  string // of the node's certificate, or that it is given; "": the one that follows from Self
	Data  string // the data directory, for texts
	// List is the static list, this node included; an address only matters if there are several nodes. A node that has
	// its membership needs none.
	List []wire.Address
	// Formed returns the durable cluster and membership of this store, if it has them. It answers from memory.
	Formed func() (ident.ClusterID, ident.Membership, bool)
	// Found makes them durable, and is called at most once. Once it has returned nil, Formed returns them.
	Found func(ident.ClusterID, ident.Membership) error
}

// Validate returns an error if c cannot work.
func (c *BootstrapConfig) Validate() error {
	if c.Formed == nil || c.Found == nil {
		return fmt.Errorf("%w: bootstrap without storage", ErrConfig)
	}
	if err := errors.Join(wire.CheckNode(c.Self), wire.CheckStore(c.Store)); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if _, _, formed := c.Formed(); formed && len(c.List) == 0 {
		return nil
	}
	list := sorted(c.List)
	if err := wire.CheckList(list); err != nil {
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
	return nil
}

// Bootstrap returns this node's cluster and membership. It returns at once if the store has them. Otherwise it takes
// part in the founding of the cluster, and waits for the other listed nodes as long as ctx lasts:
//
//   - All unformed nodes ask all listed ones. The node with the lowest id founds the cluster when it holds, from one
//     round of fresh connections, an answer of every listed node: each empty, each with the same list. It draws the
//     cluster id, makes membership 1 durable and then sends it to the others.
//   - A node takes a membership only while it waits here, only once, and only if its own store is in it. It does not
//     matter who sends it: so a founder that crashed after its own write, or before it told everybody, holds up
//     nobody once any formed node answers.
//   - A formed node tells all asking nodes that it is formed. From this a wiped node learns that it was wiped.
//
// fresh is true only if this very run made the membership durable: only then can there be no older promise of this
// store, and only such a run may start without quarantine (A4).
//
// The error is that of ctx, ErrClosed, ErrConfig, the error of Found, or a *BootstrapError, which is final. Bootstrap
// is called once.
func (t *Transport) Bootstrap(
	ctx context.Context, cfg BootstrapConfig,
) (cluster ident.ClusterID, m ident.Membership, fresh bool, err error) {
	if err := cfg.Validate(); err != nil {
		return ident.ClusterID{}, ident.Membership{}, false, err
	}
	cluster, m, formed := cfg.Formed()
	cfg.List = sorted(cfg.List)
	if formed && len(cfg.List) == 0 {
		cfg.List = listOf(m) // for those who ask
	}
	if n := len(cfg.List); n > 1 && t.listener == nil {
		err := fmt.Errorf("%w: a cluster of %d needs a peer address", ErrConfig, n)
		return ident.ClusterID{}, ident.Membership{}, false, err
	}
	b := &bootstrap{cfg: cfg, tls: t.cfg.TLS, settled: make(chan struct{})}
	b.open = !formed
	if !t.bootstrap.CompareAndSwap(nil, &answerer{bootstrap: b, history: &t.histories, log: &t.rareLog}) {
		panic("transport: Bootstrap called twice")
	}
	if formed {
		return cluster, m, false, b.checkOwn(m)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.sockets.ctx, cancel)()
	a := asker{bootstrap: b, sockets: t.sockets, log: &t.rareLog}
	err = a.run(ctx)
	if err != nil && t.sockets.ended() {
		err = ErrClosed
	}
	return b.leave(err)
}
