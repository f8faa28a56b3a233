package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/web"
)

// door is what the HTTP API talks to. Until the node is a member of a formed cluster it answers that, so that a
// starting node can be asked what it waits for; from then on it is the node.
type door struct {
	node    atomic.Pointer[Node]
	waiting api.Status // what status shows until then
}

func (d *door) forming() error {
	return fmt.Errorf("%w: %s", web.ErrNotApplied, d.waiting.Problem)
}

func (d *door) Write(patience time.Duration, c kv.Command) (kv.Result, error) {
	if n := d.node.Load(); n != nil {
		return n.Write(patience, c)
	}
	return kv.Result{}, d.forming()
}

func (d *door) Get(patience time.Duration, mode web.Mode, key string) (kv.Entry, bool, web.ReadMeta, error) {
	if n := d.node.Load(); n != nil {
		return n.Get(patience, mode, key)
	}
	return kv.Entry{}, false, web.ReadMeta{}, d.forming()
}

func (d *door) Snapshot(patience time.Duration, mode web.Mode) (*kv.Snapshot, web.ReadMeta, error) {
	if n := d.node.Load(); n != nil {
		return n.Snapshot(patience, mode)
	}
	return nil, web.ReadMeta{}, d.forming()
}

func (d *door) Transfer(ctx context.Context, to ballot.NodeID) error {
	if n := d.node.Load(); n != nil {
		return n.Transfer(ctx, to)
	}
	return d.forming()
}

func (d *door) Status() api.Status {
	if n := d.node.Load(); n != nil {
		return n.Status()
	}
	return d.waiting
}

func (d *door) Ready() error {
	if n := d.node.Load(); n != nil {
		return n.Ready()
	}
	return d.forming()
}

func (d *door) Full() string {
	if n := d.node.Load(); n != nil {
		return n.Full()
	}
	return ""
}

func (d *door) Peers() []string {
	if n := d.node.Load(); n != nil {
		return n.Peers()
	}
	return nil
}

func (d *door) Leader() string {
	if n := d.node.Load(); n != nil {
		return n.Leader()
	}
	return ""
}

func (d *door) Session(id string) (kv.Session, bool) {
	if n := d.node.Load(); n != nil {
		return n.Session(id)
	}
	return kv.Session{}, false
}

func (d *door) Remaining(kind kv.TimedKind, name string) (time.Duration, bool) {
	if n := d.node.Load(); n != nil {
		return n.Remaining(kind, name)
	}
	return 0, false
}

func (d *door) Lease(ctx context.Context, r web.LeaseRequest) (web.LeaseGrant, error) {
	if n := d.node.Load(); n != nil {
		return n.Lease(ctx, r)
	}
	return web.LeaseGrant{}, d.forming()
}

func (d *door) ShowLease(name string) (web.LeaseHint, bool) {
	if n := d.node.Load(); n != nil {
		return n.ShowLease(name)
	}
	return web.LeaseHint{}, false
}

func (d *door) ListLeases(ctx context.Context, q web.LeaseQuery) (web.LeaseList, error) {
	if n := d.node.Load(); n != nil {
		return n.ListLeases(ctx, q)
	}
	return web.LeaseList{}, d.forming()
}

var _ web.Backend = (*door)(nil)
