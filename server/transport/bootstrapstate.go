package transport

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// bootstrap is this node's part in the founding of its cluster, and afterwards the source of its answers to asking
// nodes.
type bootstrap struct {
	cfg BootstrapConfig // List is sorted
	tls *certs.Files    // nil without TLS

	mu   sync.Mutex
	open bool // this run waits and may still take part
	// claim is the store for which connections of a founder are held, so that two processes with the founder's id
	// cannot both count on this node. Nothing is claimed when holders is 0.
	claim   ident.StoreID
	holders int

	// The result, set before settled is closed.
	settled    chan struct{}
	cluster    ident.ClusterID
	membership ident.Membership
	err        error
}

// ownName returns the name in this node's certificate, which becomes its name in the membership, "" without TLS.
func (b *bootstrap) ownName() string {
	if b.tls == nil {
		return ""
	}
	return b.tls.Identity().Name
}

// founder reports whether node has the lowest id of the list, and so collects the answers and founds the cluster.
func (b *bootstrap) founder(node ballot.NodeID) bool { return b.cfg.List[0].Node == node }

// checkOwn returns an error unless m, the membership on disk, lists this node with this store.
func (b *bootstrap) checkOwn(m ident.Membership) error {
	store, listed := storeOf(m, b.cfg.Self)
	switch {
	case !listed && (m.Number > 1 || m.Change > 0):
		return forGood(ErrRemoved, "node %d takes no part: it was removed from its cluster, which came to membership %s. "+
			"Its data directory is of no more use to the cluster; to take part again the node joins under a new id, with: %s",
			b.cfg.Self, m, joinCommand(b.addressOf(m), nil, emptyData))
	case !listed:
		return forGood(ErrFormedElsewhere, "node %d takes no part: its data directory belongs to a cluster "+
			"with membership %s, which does not list it: start it with the --id it had, or with another --data",
			b.cfg.Self, m)
	case store != b.cfg.Store:
		was, _, _ := m.Find(b.cfg.Self)
		return b.wiped(was, m, "its own data directory")
	}
	return nil
}

// emptyData stands in a command for a data directory that the user has to choose.
const emptyData = "DIRECTORY"

// addressOf returns the address of a member of m other than this node, for a text.
func (b *bootstrap) addressOf(m ident.Membership) string {
	t := table{hints: map[ballot.NodeID]string{}}
	for _, a := range b.cfg.List {
		t.hints[a.Node] = a.Addr
	}
	for _, x := range m.All() {
		if addr := t.address(x); x.Node != b.cfg.Self && addr != "" {
			return addr
		}
	}
	return "HOST:PORT"
}

// wiped returns the error of a node whose store differs from that of was, which it is in m, a membership learned from
// source.
func (b *bootstrap) wiped(was ident.Member, m ident.Membership, source string) *BootstrapError {
	return forGood(ErrWiped, "node %d takes no part: its data directory is new or another one's. "+
		"It has store %s, and membership %d of the cluster, says %s, has store %s for node %d. "+
		"A node that has lost its disk must not vote, since it has forgotten what it promised. "+
		"If the old data directory still exists, start the node with it. "+
		"Otherwise the node joins again under its name, with another number",
		b.cfg.Self, b.cfg.Store, m.Number, source, was.Store, was.Node)
}

// adopt makes a membership durable if this node may take it, from any sender.
func (b *bootstrap) adopt(cluster ident.ClusterID, m ident.Membership) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	if c, have, ok := b.cfg.Formed(); ok {
		if c == cluster && have.Number == m.Number && slices.Equal(have.Members, m.Members) {
			return nil
		}
		return refuse(wire.ReasonBootstrap, "node %d is in cluster %s with membership %s already: "+
			"it does not take cluster %s with membership %s", b.cfg.Self, c, have, cluster, m)
	}
	switch {
	case !b.open:
		return refuse(wire.ReasonNotReady,
			"node %d does not wait for a bootstrap any more: see its log, and start it again", b.cfg.Self)
	case m.Number != 1 || !sameNodes(b.cfg.List, m) || !m.Lists(b.cfg.Self, b.cfg.Store):
		return refuse(wire.ReasonBootstrap, "node %d was started with the list %s and store %s: "+
			"it does not take cluster %s with membership %s",
			b.cfg.Self, showList(b.cfg.List), b.cfg.Store, cluster, m)
	}
	if self, _, _ := m.Find(b.cfg.Self); b.tls != nil && nameOf(self) != b.ownName() {
		return refuse(wire.ReasonCertificate, "node %d has the certificate of %s: it does not take membership %s, in which "+
			"it is %s", b.cfg.Self, b.ownName(), m, nameOf(self))
	}
	b.open = false
	b.cluster, b.membership = cluster, m
	if err := b.cfg.Found(cluster, m); err != nil {
		b.err = fmt.Errorf("make the bootstrap of cluster %s durable: %w", cluster, err)
	}
	close(b.settled)
	return b.err
}

// leave ends this run's chance to take part, and returns the result. Success beats an error that came at the same time:
// the membership is on disk.
func (b *bootstrap) leave(err error) (ident.ClusterID, ident.Membership, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = false
	select {
	case <-b.settled:
		err = b.err
	default:
	}
	if err != nil {
		return ident.ClusterID{}, ident.Membership{}, false, err
	}
	return b.cluster, b.membership, true, nil
}

// hold reserves this node for a founder while its connection lasts. It reports false if another process is founding the
// cluster.
func (b *bootstrap) hold(founder ident.StoreID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holders > 0 && b.claim != founder {
		return false
	}
	b.claim = founder
	b.holders++
	return true
}

// release ends a reservation.
func (b *bootstrap) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holders--
}

// formed returns the cluster and membership of this store for answers to other nodes. After a failed write it returns
// none: the write may or may not be durable, and only the next run will know.
func (b *bootstrap) formed() (ident.ClusterID, ident.Membership, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return ident.ClusterID{}, ident.Membership{}, false
	}
	return b.cfg.Formed()
}

// waiting reports whether this run may still take part.
func (b *bootstrap) waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

func newCluster() ident.ClusterID {
	var c ident.ClusterID
	rand.Read(c[:]) // never fails
	return c
}
