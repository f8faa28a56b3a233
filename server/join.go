package server

import (
	"context"
	"errors"
	"fmt"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/server/backend"
	"tenure/server/transport"
	"tenure/server/wire"
)

// join finds this node's membership, or takes part in the bootstrap of its cluster. fresh reports whether this run
// bootstrapped it. Only then is there nothing older for A4 to wait for.
func (n *node) join(ctx context.Context) (fresh bool, err error) {
	list := make([]wire.Address, 0, len(n.cfg.Cluster))
	for _, a := range n.cfg.Cluster {
		list = append(list, wire.Address(a))
	}
	_, membership, fresh, err := n.ports.peers.Bootstrap(ctx, transport.BootstrapConfig{
		Self: n.cfg.Node, Store: n.store.Identity().Store, Name: n.cfg.NodeName, Data: n.cfg.Data, List: list,
		Found: n.store.Found,
		Formed: func() (ident.ClusterID, ident.Membership, bool) {
			id := n.store.Identity()
			return id.Cluster, id.Membership, id.Formed
		},
	})
	if errors.Is(err, transport.ErrLists) {
		return false, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return false, err
	}
	if id := n.store.Identity(); !id.TakesPart() {
		return false, fmt.Errorf("%w: node %d with store %s is not in membership %s of this data directory",
			ErrConfig, n.cfg.Node, id.Store, membership)
	}
	return fresh, nil
}

// hello returns what this node says of itself to a peer. Its marks are durable ones. It is called from Serve on.
func (n *node) hello() wire.Hello {
	id, d := n.store.Identity(), n.store.Durable()
	peerAddr := n.cfg.peerAdvertised()
	if !backend.NamesHost(peerAddr) {
		peerAddr = ""
	}
	return wire.Hello{
		Cluster: id.Cluster, Node: n.cfg.Node, Store: id.Store, Incarnation: n.self, ClientAddr: n.cfg.clientAdvertised(),
		Constants: n.cfg.constants(), Marks: wire.Marks{Promised: d.Promised, Accepted: uint64(d.Last)},
		Level: kv.NewestLevel, ClusterLevel: n.level(), Speaks: wire.Version, RedisAddr: n.cfg.redisAdvertised(),
		PeerAddr: peerAddr,
	}
}
