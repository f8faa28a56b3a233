package clienttest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/web"
)

// maxLeaseTime is the longest TTL of a lease.
const maxLeaseTime = 24 * time.Hour

// serve makes what answers the node's requests.
func (n *Node) serve() {
	b := &backend{n.cluster, n}
	served := service.Config{Logger: zerolog.Nop(), Hub: b.cluster.store.hub, MaxLeaseTime: maxLeaseTime,
		MaxValueBytes: api.MaxValueBytes}
	cfg := web.Config{Config: served, Addr: "127.0.0.1:0", Version: "test", Node: ballot.NodeID(n.ID), NodeName: nodeName(n.ID)}
	n.open, n.partitioned = newServer(cfg, b), newServer(cfg, partitioned{b})
	cfg.Access = b.cluster.store.access
	n.guarded = newServer(cfg, b)
}

func newServer(cfg web.Config, b service.Node) *web.Server {
	s, err := web.New(cfg, service.FrontOf(b))
	must(err)
	return s
}

// backend is a node as its HTTP API sees it.
type backend struct {
	cluster *Cluster
	node    *Node
}

// partitioned is a node that hears no other.
type partitioned struct{ *backend }

func (partitioned) Lease(context.Context, service.LeaseCommand) (service.LeaseGrant, error) {
	return service.LeaseGrant{}, fmt.Errorf("%w: no quorum: injected", service.ErrNotApplied)
}

func (b *backend) Write(_ time.Duration, c kv.Command, _ *slow.Write) (kv.Result, error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	b.cluster.store.sweep()
	return b.cluster.store.apply(c), nil
}

func (b *backend) WriteDrawn(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	return b.Write(timeout, c, took)
}

func (b *backend) Get(_ time.Duration, mode service.Mode, key string) (kv.Entry, bool, service.ReadMeta, error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	b.cluster.store.sweep()
	e, found, err := b.cluster.store.state.Get(key)
	return e, found, b.readMeta(mode), err
}

func (b *backend) GetMany(_ time.Duration, _ service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	b.cluster.store.sweep()
	for i, k := range keys {
		e, _, err := b.cluster.store.state.Get(k)
		if err != nil || !each(i, e) {
			return b.cluster.store.state.Revision(), err
		}
	}
	return b.cluster.store.state.Revision(), nil
}

func (b *backend) Snapshot(_ time.Duration, mode service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	b.cluster.store.sweep()
	view, err := b.cluster.store.state.Snapshot()
	return view, b.readMeta(mode), err
}

func (b *backend) readMeta(mode service.Mode) service.ReadMeta {
	m := service.ReadMeta{Revision: b.cluster.store.state.Revision(), KnownLeader: b.cluster.master != 0}
	if mode == service.Stale {
		m.LastContact = 70 * time.Millisecond
	}
	return m
}

func (b *backend) CatchUp(time.Duration) (uint64, error) { return b.cluster.Revision(), nil }

func (b *backend) Session(id string) (kv.Session, bool) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	return b.cluster.store.state.Session(id)
}

func (b *backend) Remaining(kind kv.TimedKind, name string) (time.Duration, bool) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	if r := b.cluster.store.running[timed{kind, name}]; r != nil {
		return time.Until(r.at), true
	}
	return 0, false
}

func (b *backend) KeyCount() (keys int, known bool) { return 0, false }

func (b *backend) ClusterID() string {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	return b.cluster.id
}

func (b *backend) Status() api.Status {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	c, n, revision := b.cluster, b.node, b.cluster.store.state.Revision()
	s := api.Status{
		Cluster: c.id, Node: n.ID, Version: "test", Role: api.RoleFollower, Master: c.master, Epoch: c.epoch,
		Promised: fmt.Sprintf("%d@%d.1:00000000", c.epoch, c.master), Chosen: revision, Applied: revision,
		Revision: revision, UptimeMS: 1000, Problem: n.problem, Peers: []api.PeerStatus{},
		Lease: api.LeaseStatus{RemainingMS: 800}, Snapshot: n.copies, Draining: c.members.drains(n.ID), ACL: c.guarded,
		Absence: n.absence,
	}
	for _, p := range c.nodes {
		if p != n {
			s.Peers = append(s.Peers, api.PeerStatus{Node: p.ID, ClientAddress: p.address(),
				Connected: !p.stopped.Load() && p.refused == "", NonVoter: c.members.nonVoter(p.ID),
				Problem: cmp.Or(p.refused, p.known)})
		}
	}
	if c.members.nonVoter(n.ID) {
		s.Role = api.RoleNonVoter
	}
	if c.master == n.ID {
		s.Role, s.Lease.Held = api.RoleMaster, true
	}
	if n.apart {
		s.Role = api.RoleNone
	}
	return s
}

func (b *backend) History() api.History {
	return api.History{Node: b.node.ID, EveryMS: 5000, SpanMS: 600000, Samples: []api.HistorySample{
		{AgeMS: 1000, RequestsPerS: 10, P99MS: 1.5, Lags: []api.MemberLag{}}}}
}

func (b *backend) Reports() api.Reports {
	s := b.Status()
	out := api.Reports{Reports: []api.Report{{Node: s.Node, Version: s.Version, UptimeMS: s.UptimeMS, Disk: &s.Disk,
		Changes: []api.TenureChange{}}}}
	for _, p := range s.Peers {
		out.Reports = append(out.Reports, api.Report{Node: p.Node, Problem: "a pretended node tells nothing",
			Changes: []api.TenureChange{}})
	}
	return out
}

// TokenUses knows of no use: a pretended node decides nothing.
func (b *backend) TokenUses(accessors []string) (api.TokenUses, error) {
	out := api.TokenUses{Uses: make([]api.TokenUse, len(accessors)), Silent: []uint64{}}
	for i, accessor := range accessors {
		out.Uses[i].Accessor = accessor
	}
	return out, nil
}

// address returns the HOST:PORT of a node that Start made, else "".
func (n *Node) address() string { return strings.TrimPrefix(n.URL, "http://") }

func (b *backend) Transfer(_ time.Duration, to ballot.NodeID) error {
	b.cluster.mu.Lock()
	next := b.cluster.master%uint64(len(b.cluster.nodes)) + 1
	b.cluster.mu.Unlock()
	if to != 0 {
		next = uint64(to)
	}
	b.cluster.SetMaster(next)
	return nil
}

func (b *backend) Ready() error {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	if b.cluster.master == 0 {
		return fmt.Errorf("%w: there is no master", service.ErrNotApplied)
	}
	return nil
}

// What a pretended cluster does not have.

var errNone = fmt.Errorf("%w: a pretended cluster has none", service.ErrNotApplied)

func (b *backend) Serves() error   { return nil }
func (b *backend) Drained() bool   { return false }
func (b *backend) Full() string    { return "" }
func (b *backend) Peers() []string { return nil }
func (b *backend) Leader() string  { return "" }

// Master is that of the whole pretended cluster: its nodes know it at once.
func (b *backend) Master() uint64 {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	return b.cluster.master
}

func (b *backend) Backup(time.Duration) (service.Backup, error) { return nil, errNone }

func (b *backend) Restore(time.Duration, io.Reader, kv.Command) (kv.Result, error) {
	return kv.Result{}, errNone
}

func (b *backend) Upgrade() api.Upgrade {
	return api.Upgrade{FeatureLevel: kv.NewestLevel, NewestLevel: kv.NewestLevel, RaisesInMS: -1}
}

func (b *backend) FinishUpgrade(time.Duration) (api.Upgrade, error) { return b.Upgrade(), nil }
