package backend

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/server/guardian"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/transport"
	"tenure/storage"
)

// ClusterConfig is what a Cluster is made of. All fields are required.
type ClusterConfig struct {
	Identity   storage.Identity // of which the membership may be an older one
	Members    *runner.Members
	ClientAddr string // of this node, as others reach it
	Version    string
	ACL        bool          // requests need tokens
	LeaseTime  time.Duration // of the master lease
	Started    time.Duration // reading of the clock at the start of the process
	Clock      *clock.Clock
	Mastership *runner.Mastership
	Health     *runner.Health
	Elector    *runner.Elector
	Log        *runner.Log
	Leases     *runner.Leases
	Disk       *runner.Disk
	Snapshots  *runner.Snapshots
	Archive    func() *api.ArchiveStatus
	Lifecycle  *runner.Lifecycle
	Draining   func() bool
	Clocks     *runner.Clocks
	Links      func() []transport.PeerState
	Sought     func() string        // of the Transport
	Served     func() time.Duration // of the Transport
	// FounderWait is for how long a node that has founded a cluster, and is alone in it, waits for members of another
	// one.
	FounderWait time.Duration
	Guardian    func() guardian.State
	// Unjoinable: this node listens for no other nodes, so none can join it.
	Unjoinable bool
	// AddressNote says that the members look for this node elsewhere than it was started, or is empty.
	AddressNote func(ident.Membership) string
}

// Cluster tells of this node and its peers, from published values only: it never waits.
type Cluster struct{ cfg ClusterConfig }

// NewCluster returns a Cluster.
func NewCluster(c ClusterConfig) *Cluster { return &Cluster{cfg: c} }

// Leader returns the peer address of the master, or "".
func (b *Cluster) Leader() string { return b.cfg.Members.Address(b.cfg.Log.View().Master) }

// Master returns the number of the master as this node knows it, to which it passes requests on; 0: none.
func (b *Cluster) Master() uint64 { return uint64(b.cfg.Log.View().Master) }

// Peers lists the peer addresses of the members.
func (b *Cluster) Peers() []string {
	members := b.cfg.Members.Load().All()
	out := make([]string, 0, len(members))
	for _, m := range members {
		if a := b.cfg.Members.Address(m.Node); a != "" {
			out = append(out, a)
		}
	}
	return out
}

// Ready returns nil if the node knows a master that is ready, and is caught up.
func (b *Cluster) Ready() error {
	v := b.cfg.Log.View()
	switch {
	case b.cfg.Lifecycle.Stopping():
		return errors.New("this node is stopping")
	case b.cfg.Draining():
		return fmt.Errorf("this node is drained: it takes no new clients until kvctl drain %d --off", b.cfg.Identity.Node)
	case b.FounderWaits() != "":
		return errors.New(b.FounderWaits())
	case v.Master == 0:
		return errors.New("no master is known")
	case !v.CaughtUp:
		if slices.Contains(v.Full, b.cfg.Identity.Node) {
			return fmt.Errorf("this node has applied slot %d and cannot catch up: %s", v.Applied, fullNodes(v.Full))
		}
		return fmt.Errorf("this node has applied slot %d and is catching up with the master", v.Applied)
	}
	return nil
}

// Serves returns nil if this node may serve clients. One that has founded a cluster alone serves nobody while it waits.
func (b *Cluster) Serves() error {
	if !b.foundedAlone() {
		return nil
	}
	if why := b.Sought(); why != "" {
		return fmt.Errorf("%w: %s", service.ErrOtherCluster, why)
	}
	if why := b.FounderWaits(); why != "" {
		return fmt.Errorf("%w: %s", service.ErrNotApplied, why)
	}
	return nil
}

// FounderWaits returns why this node, alone in a cluster that it has founded, should serve nobody, or "". The reason is
// that it is Sought, or that it has not waited long enough to know.
func (b *Cluster) FounderWaits() string {
	if !b.foundedAlone() {
		return ""
	}
	if why := b.Sought(); why != "" || b.cfg.Served() >= b.cfg.FounderWait {
		return why
	}
	return fmt.Sprintf("this node has founded a cluster and is alone in it: for its first %v it looks whether it is missed "+
		"in another one", b.cfg.FounderWait)
}

// Sought returns advice if a member of another cluster looks for this node here, or "". This node was probably a member
// of that cluster, has lost its directory, and has founded a new cluster.
func (b *Cluster) Sought() string {
	text := b.cfg.Sought()
	if text == "" || !b.foundedAlone() {
		return ""
	}
	return "this node has founded a cluster of its own, and a member of another one looks for it: if it has lost its " +
		"directory, stop it and have it replaced there; if the other cluster is of no more use, stop the nodes of that. " + text
}

// foundedAlone reports whether this node has founded its cluster and has been alone in it since. A cluster that others
// have joined, or that was restored, was meant to be.
func (b *Cluster) foundedAlone() bool {
	m := b.cfg.Members.Load()
	return b.cfg.Identity.Bootstrap.Number != 0 && len(m.Members) == 1 && m.Change == 0
}

// Drained reports whether the node is drained and knows no master.
func (b *Cluster) Drained() bool { return b.cfg.Draining() && b.cfg.Log.View().Master == 0 }

// CanTake returns nil if node to, or any other member if to is 0, is connected and caught up, and so can take
// mastership at once.
func (b *Cluster) CanTake(to ballot.NodeID) error {
	v := b.cfg.Log.View()
	peers := b.peers(v, b.cfg.Clock.Now())
	if to == 0 {
		if slices.ContainsFunc(peers, func(p api.PeerStatus) bool { return canTake(&p, v.Applied) == nil }) {
			return nil
		}
		return errors.New("no other voter is connected to the master and caught up: there is nobody to hand over to")
	}
	for _, p := range peers {
		if p.Node == uint64(to) {
			return canTake(&p, v.Applied)
		}
	}
	return fmt.Errorf("node %d is not a member", to)
}

// canTake is CanTake for one member, at a master that has applied so many slots.
func canTake(p *api.PeerStatus, applied uint64) error {
	switch {
	case p.NonVoter:
		return fmt.Errorf("node %d is a non-voter, which cannot be master", p.Node)
	case !p.Connected:
		return fmt.Errorf("node %d is not connected to the master", p.Node)
	case p.Applied+replica.SuccessorLag < applied:
		return fmt.Errorf("node %d is not caught up: it has applied slot %d, the master %d", p.Node, p.Applied, applied)
	}
	return nil
}
