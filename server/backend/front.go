package backend

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/members"
	"tenure/server/service"
	"tenure/server/slow"
)

// Front is the backend of the HTTP API. Before the node is a member of a formed cluster, Front answers only what the
// node waits for. From then on it passes every request on to the node's Backend.
type Front struct {
	serving serving
	// sure is set once this node knows whether the cluster has tokens. One that asks for them need not know.
	sure atomic.Bool
}

var _ service.Node = (*Front)(nil)

// NewFront returns a Front whose status is starting until Serve. It refuses requests with starting.Problem.
func NewFront(starting api.Status) *Front {
	f := &Front{}
	f.serving.starting.Store(&starting)
	f.sure.Store(starting.ACL)
	return f
}

// Wait changes what the node says that it waits for.
func (f *Front) Wait(problem string) {
	s := *f.serving.starting.Load()
	s.Problem = problem
	f.serving.starting.Store(&s)
}

// Serve passes all requests on to b from now on.
func (f *Front) Serve(b *Backend) { f.serving.backend.Store(b) }

// Close refuses every request with problem from now on, also reads under way. If the caller holds the state's lock for
// writing, no client sees the state as of then or later.
func (f *Front) Close(problem string) {
	f.Wait(problem)
	f.serving.closed.Store(true)
}

// makeSure has a node without --acl catch up before its first write: the cluster may have got tokens while the node was
// down, and then the Front is closed. Reads need no check: they are as old as the node's knowledge of tokens.
func (f *Front) makeSure(b *Backend, timeout time.Duration) error {
	if f.sure.Load() {
		return nil
	}
	if _, err := b.CatchUp(timeout); err != nil {
		return service.NotApplied("this node does not know yet whether the cluster has tokens", err)
	}
	if err := f.serving.stillOpen(nil); err != nil {
		return err
	}
	f.sure.Store(true)
	return nil
}

// of returns what call returns of the Backend, or why there is none for the request.
func of[A any](f *Front, call func(*Backend) (A, error)) (answer A, err error) {
	b := f.serving.open()
	if b == nil {
		return answer, f.serving.refuse()
	}
	return call(b)
}

// known returns what call returns of the Backend, or the zero value if there is none for the request.
func known[A any](f *Front, call func(*Backend) A) (answer A) {
	if b := f.serving.open(); b != nil {
		return call(b)
	}
	return answer
}

// Write has the command applied through the master. It adds to took where the time went, unless took is nil.
func (f *Front) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	return f.change(timeout, func(b *Backend) (kv.Result, error) { return b.Write(timeout, c, took) })
}

// WriteDrawn has the command applied through the master, under a key that this node has drawn.
func (f *Front) WriteDrawn(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	return f.change(timeout, func(b *Backend) (kv.Result, error) { return b.WriteDrawn(timeout, c, took) })
}

// Restore replaces the state of the cluster.
func (f *Front) Restore(timeout time.Duration, body io.Reader, install kv.Command) (kv.Result, error) {
	return f.change(timeout, func(b *Backend) (kv.Result, error) { return b.Restore(timeout, body, install) })
}

// change returns what write, which changes keys, returns of the Backend.
func (f *Front) change(timeout time.Duration, write func(*Backend) (kv.Result, error)) (kv.Result, error) {
	return of(f, func(b *Backend) (kv.Result, error) {
		if err := f.makeSure(b, timeout); err != nil {
			return kv.Result{}, err
		}
		return write(b)
	})
}

// Get reads one key.
func (f *Front) Get(timeout time.Duration, mode service.Mode, key string) (kv.Entry, bool, service.ReadMeta, error) {
	if b := f.serving.open(); b != nil {
		e, found, meta, err := b.Get(timeout, mode, key)
		return e, found, meta, f.serving.stillOpen(err)
	}
	return kv.Entry{}, false, service.ReadMeta{}, f.serving.refuse()
}

// GetMany reads keys in one state, and returns its revision.
func (f *Front) GetMany(timeout time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	return of(f, func(b *Backend) (uint64, error) {
		revision, err := b.GetMany(timeout, mode, keys, each)
		return revision, f.serving.stillOpen(err)
	})
}

// Snapshot returns a consistent view of the whole state.
func (f *Front) Snapshot(timeout time.Duration, mode service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	if b := f.serving.open(); b != nil {
		snap, meta, err := b.Snapshot(timeout, mode)
		if now := f.serving.stillOpen(err); now != err {
			snap.Close()
			return nil, meta, now
		}
		return snap, meta, err
	}
	return nil, service.ReadMeta{}, f.serving.refuse()
}

// CatchUp waits until this node has applied what was acknowledged before, and returns the store's revision then.
func (f *Front) CatchUp(timeout time.Duration) (uint64, error) {
	return of(f, func(b *Backend) (uint64, error) {
		revision, err := b.CatchUp(timeout)
		return revision, f.serving.stillOpen(err)
	})
}

// Backup begins a backup.
func (f *Front) Backup(timeout time.Duration) (service.Backup, error) {
	return of(f, func(b *Backend) (service.Backup, error) { return b.Backup(timeout) })
}

// Upgrade returns what this node knows of the feature level.
func (f *Front) Upgrade() api.Upgrade {
	if b := f.serving.open(); b != nil {
		return b.Upgrade()
	}
	return api.Upgrade{NewestLevel: kv.NewestLevel, RaisesInMS: -1, Members: []api.MemberLevel{},
		Blocked: f.serving.starting.Load().Problem}
}

// FinishUpgrade has the master raise the feature level.
func (f *Front) FinishUpgrade(timeout time.Duration) (api.Upgrade, error) {
	return of(f, func(b *Backend) (api.Upgrade, error) { return b.FinishUpgrade(timeout) })
}

// Transfer asks the master to hand over.
func (f *Front) Transfer(timeout time.Duration, to ballot.NodeID) error {
	if b := f.serving.open(); b != nil {
		return b.Transfer(timeout, to)
	}
	return f.serving.refuse()
}

// ClusterID returns the id of the cluster, "" until this node takes part in it.
func (f *Front) ClusterID() string {
	if b := f.serving.backend.Load(); b != nil {
		return b.ClusterID()
	}
	return ""
}

// Status returns the node's view of itself and its peers.
func (f *Front) Status() api.Status {
	if b := f.serving.begun(); b != nil {
		return b.Status()
	}
	return *f.serving.starting.Load()
}

// Ready returns nil if the node can serve.
func (f *Front) Ready() error {
	if b := f.serving.begun(); b != nil {
		return b.Ready()
	}
	return f.serving.refuse()
}

// Drained reports whether the node is drained and knows no master.
func (f *Front) Drained() bool { return known(f, func(b *Backend) bool { return b.Cluster.Drained() }) }

// Full names the members that are short of space.
func (f *Front) Full() string { return known(f, func(b *Backend) string { return b.Full() }) }

// Peers lists the peer addresses of the members.
func (f *Front) Peers() []string { return known(f, func(b *Backend) []string { return b.Peers() }) }

// Leader returns the peer address of the master.
func (f *Front) Leader() string { return known(f, func(b *Backend) string { return b.Leader() }) }

// ListMembers returns the members as this node has applied them.
func (f *Front) ListMembers() (api.MemberList, error) {
	return of(f, func(b *Backend) (api.MemberList, error) { return b.ListMembers() })
}

// ChangeMembers begins an operation.
func (f *Front) ChangeMembers(timeout time.Duration, op members.Operation) (api.MemberOperation, error) {
	return of(f, func(b *Backend) (api.MemberOperation, error) { return b.ChangeMembers(timeout, op) })
}

// PlanChange says what ChangeMembers would do.
func (f *Front) PlanChange(timeout time.Duration, op members.Operation) (api.MemberPlan, error) {
	return of(f, func(b *Backend) (api.MemberPlan, error) { return b.PlanChange(timeout, op) })
}

// CancelChange takes an operation back.
func (f *Front) CancelChange(timeout time.Duration, operation string) (api.MemberOperation, error) {
	return of(f, func(b *Backend) (api.MemberOperation, error) { return b.CancelChange(timeout, operation) })
}

// DrainNode prepares a node for maintenance.
func (f *Front) DrainNode(timeout time.Duration, node ballot.NodeID, off, force bool) error {
	if b := f.serving.open(); b != nil {
		return b.DrainNode(timeout, node, off, force)
	}
	return f.serving.refuse()
}

// Session returns a session as applied here.
func (f *Front) Session(id string) (kv.Session, bool) {
	if b := f.serving.open(); b != nil {
		return b.Session(id)
	}
	return kv.Session{}, false
}

// KeyCount returns how many keys there were a little while ago.
func (f *Front) KeyCount() (keys int, known bool) {
	if b := f.serving.open(); b != nil {
		return b.KeyCount()
	}
	return 0, false
}

// Remaining returns about how long the time that runs on name has left.
func (f *Front) Remaining(kind kv.TimedKind, name string) (time.Duration, bool) {
	if b := f.serving.open(); b != nil {
		return b.Remaining(kind, name)
	}
	return 0, false
}

// Lease carries out a request about a named lease.
func (f *Front) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	return of(f, func(b *Backend) (service.LeaseGrant, error) { return b.Lease(ctx, r) })
}

// ShowLease returns what this node knows of a named lease.
func (f *Front) ShowLease(name string) (service.LeaseHint, bool) {
	if b := f.serving.open(); b != nil {
		return b.ShowLease(name)
	}
	return service.LeaseHint{}, false
}

// ListLeases lists the named leases that this node knows.
func (f *Front) ListLeases(ctx context.Context, q service.LeaseQuery) (service.LeaseList, error) {
	return of(f, func(b *Backend) (service.LeaseList, error) { return b.ListLeases(ctx, q) })
}
