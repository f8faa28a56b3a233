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
	Guardian   func() guardian.State
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
		return errors.New("this node is drained: it takes no new clients until kvctl drain --off")
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

// CanTake returns nil if another member is there and caught up, so that it can take mastership at once.
func (b *Cluster) CanTake(to ballot.NodeID) error {
	v := b.cfg.Log.View()
	for _, p := range b.peers(v, b.cfg.Clock.Now()) {
		if p.Node != uint64(to) {
			continue
		}
		if p.NonVoter {
			return fmt.Errorf("node %d is a non-voter, which cannot be master", to)
		}
		if !p.Connected {
			return fmt.Errorf("node %d is not connected to the master", to)
		}
		if p.Chosen+replica.SuccessorLag < v.Applied {
			return fmt.Errorf("node %d is not caught up: it has applied slot %d, the master %d", to, p.Chosen, v.Applied)
		}
		return nil
	}
	return fmt.Errorf("node %d is not a member", to)
}
