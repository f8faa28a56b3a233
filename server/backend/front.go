package backend

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/web"
)

// Front is what the HTTP API talks to. Until the node is a member of a formed cluster it says so, so that a starting
// node can be asked what it waits for; from then on it passes everything on to the node's Backend.
type Front struct {
	backend  atomic.Pointer[Backend]
	starting atomic.Pointer[api.Status]
}

var _ web.Backend = (*Front)(nil)

// NewFront returns a Front whose status is starting until Serve. What is asked of it is refused with starting.Problem.
func NewFront(starting api.Status) *Front {
	f := &Front{}
	f.starting.Store(&starting)
	return f
}

// Wait changes what the node says that it waits for.
func (f *Front) Wait(problem string) {
	s := *f.starting.Load()
	s.Problem = problem
	f.starting.Store(&s)
}

// Serve passes all requests on to b from now on.
func (f *Front) Serve(b *Backend) { f.backend.Store(b) }

func (f *Front) refuse() error {
	return fmt.Errorf("%w: %s", web.ErrNotApplied, f.starting.Load().Problem)
}

// Write has the command applied through the master.
func (f *Front) Write(timeout time.Duration, c kv.Command) (kv.Result, error) {
	if b := f.backend.Load(); b != nil {
		return b.Write(timeout, c)
	}
	return kv.Result{}, f.refuse()
}

// Get reads one key.
func (f *Front) Get(timeout time.Duration, mode web.Mode, key string) (kv.Entry, bool, web.ReadMeta, error) {
	if b := f.backend.Load(); b != nil {
		return b.Get(timeout, mode, key)
	}
	return kv.Entry{}, false, web.ReadMeta{}, f.refuse()
}

// Snapshot returns a consistent view of the whole state.
func (f *Front) Snapshot(timeout time.Duration, mode web.Mode) (*kv.Snapshot, web.ReadMeta, error) {
	if b := f.backend.Load(); b != nil {
		return b.Snapshot(timeout, mode)
	}
	return nil, web.ReadMeta{}, f.refuse()
}

// Backup begins a backup.
func (f *Front) Backup(timeout time.Duration) (web.Backup, error) {
	if b := f.backend.Load(); b != nil {
		return b.Backup(timeout)
	}
	return nil, f.refuse()
}

// Upgrade returns what this node knows of the feature level.
func (f *Front) Upgrade() api.Upgrade {
	if b := f.backend.Load(); b != nil {
		return b.Upgrade()
	}
	return api.Upgrade{NewestLevel: kv.NewestLevel, RaisesInMS: -1, Members: []api.MemberLevel{},
		Blocked: f.starting.Load().Problem}
}

// FinishUpgrade has the master raise the feature level.
func (f *Front) FinishUpgrade(timeout time.Duration) (api.Upgrade, error) {
	if b := f.backend.Load(); b != nil {
		return b.FinishUpgrade(timeout)
	}
	return api.Upgrade{}, f.refuse()
}

// Restore replaces the state of the cluster.
func (f *Front) Restore(timeout time.Duration, body io.Reader, install kv.Command) (kv.Result, error) {
	if b := f.backend.Load(); b != nil {
		return b.Restore(timeout, body, install)
	}
	return kv.Result{}, f.refuse()
}

// Transfer asks the master to hand over.
func (f *Front) Transfer(ctx context.Context, to ballot.NodeID) error {
	if b := f.backend.Load(); b != nil {
		return b.Transfer(ctx, to)
	}
	return f.refuse()
}

// Status returns the node's view of itself and its peers.
func (f *Front) Status() api.Status {
	if b := f.backend.Load(); b != nil {
		return b.Status()
	}
	return *f.starting.Load()
}

// Ready returns nil if the node can serve.
func (f *Front) Ready() error {
	if b := f.backend.Load(); b != nil {
		return b.Ready()
	}
	return f.refuse()
}

// Full names the members that are short of space.
func (f *Front) Full() string {
	if b := f.backend.Load(); b != nil {
		return b.Full()
	}
	return ""
}

// Peers lists the peer addresses of the members.
func (f *Front) Peers() []string {
	if b := f.backend.Load(); b != nil {
		return b.Peers()
	}
	return nil
}

// Leader returns the peer address of the master.
func (f *Front) Leader() string {
	if b := f.backend.Load(); b != nil {
		return b.Leader()
	}
	return ""
}

// ListMembers returns the members as this node has applied them.
func (f *Front) ListMembers(timeout time.Duration) (api.MemberList, error) {
	if b := f.backend.Load(); b != nil {
		return b.ListMembers(timeout)
	}
	return api.MemberList{}, f.refuse()
}

// ChangeMembers begins an operation.
func (f *Front) ChangeMembers(timeout time.Duration, c web.MemberChange) (api.MemberOperation, error) {
	if b := f.backend.Load(); b != nil {
		return b.ChangeMembers(timeout, c)
	}
	return api.MemberOperation{}, f.refuse()
}

// PlanChange says what ChangeMembers would do.
func (f *Front) PlanChange(timeout time.Duration, c web.MemberChange) (api.MemberPlan, error) {
	if b := f.backend.Load(); b != nil {
		return b.PlanChange(timeout, c)
	}
	return api.MemberPlan{}, f.refuse()
}

// CancelChange takes an operation back.
func (f *Front) CancelChange(timeout time.Duration, operation string) (api.MemberOperation, error) {
	if b := f.backend.Load(); b != nil {
		return b.CancelChange(timeout, operation)
	}
	return api.MemberOperation{}, f.refuse()
}

// DrainNode prepares a node for maintenance.
func (f *Front) DrainNode(timeout time.Duration, node ballot.NodeID, off bool) error {
	if b := f.backend.Load(); b != nil {
		return b.DrainNode(timeout, node, off)
	}
	return f.refuse()
}

// Session returns a session as applied here.
func (f *Front) Session(id string) (kv.Session, bool) {
	if b := f.backend.Load(); b != nil {
		return b.Session(id)
	}
	return kv.Session{}, false
}

// Remaining returns about how long the time that runs on name has left.
func (f *Front) Remaining(kind kv.TimedKind, name string) (time.Duration, bool) {
	if b := f.backend.Load(); b != nil {
		return b.Remaining(kind, name)
	}
	return 0, false
}

// Lease carries out a request about a named lease.
func (f *Front) Lease(ctx context.Context, r web.LeaseCommand) (web.LeaseGrant, error) {
	if b := f.backend.Load(); b != nil {
		return b.Lease(ctx, r)
	}
	return web.LeaseGrant{}, f.refuse()
}

// ShowLease returns what this node knows of a named lease.
func (f *Front) ShowLease(name string) (web.LeaseHint, bool) {
	if b := f.backend.Load(); b != nil {
		return b.ShowLease(name)
	}
	return web.LeaseHint{}, false
}

// ListLeases lists the named leases that this node knows.
func (f *Front) ListLeases(ctx context.Context, q web.LeaseQuery) (web.LeaseList, error) {
	if b := f.backend.Load(); b != nil {
		return b.ListLeases(ctx, q)
	}
	return web.LeaseList{}, f.refuse()
}
