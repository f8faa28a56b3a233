package backend

import (
	"fmt"
	"time"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/runner"
	"tenure/server/service"
)

// Get reads one key.
func (b *KV) Get(timeout time.Duration, mode service.Mode, key string) (
	e kv.Entry, found bool, meta service.ReadMeta, err error) {
	meta, err = b.read(timeout, mode, func() (uint64, error) {
		var revision uint64
		var err error
		e, found, revision, err = b.cfg.State.Get(key)
		return revision, err
	})
	return e, found, meta, err
}

// GetMany reads keys in one state and calls each with every one in order, until it returns false. The entry of a key
// that is absent has ModifyIndex 0. It may begin again with the first key. It returns the revision of that state.
func (b *KV) GetMany(timeout time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	meta, err := b.read(timeout, mode, func() (uint64, error) { return b.cfg.State.GetMany(keys, each) })
	return meta.Revision, err
}

// Snapshot returns a consistent view of the whole state.
func (b *KV) Snapshot(timeout time.Duration, mode service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	var snap *kv.Snapshot
	drop := func() {
		if snap != nil {
			snap.Close()
			snap = nil
		}
	}
	meta, err := b.read(timeout, mode, func() (revision uint64, err error) {
		drop()
		snap, revision, err = b.cfg.State.Snapshot()
		return revision, err
	})
	if err != nil {
		drop()
	}
	return snap, meta, err
}

// CatchUp waits until this node has applied every command that was acknowledged before the call, and returns the
// store's revision then.
func (b *KV) CatchUp(timeout time.Duration) (uint64, error) {
	meta, err := b.read(timeout, service.Default, func() (uint64, error) { return b.cfg.State.Revision(), nil })
	return meta.Revision, err
}

// read takes data with take under the promise of mode.
func (b *KV) read(timeout time.Duration, mode service.Mode, take func() (uint64, error)) (service.ReadMeta, error) {
	if mode == service.Stale {
		revision, err := take()
		return b.readMeta(revision), b.damage(err)
	}
	if mode == service.Default {
		if t, ok := b.cfg.Mastership.Load().Begin(); ok {
			if meta, done, err := b.takeUnderLease(t, take); done {
				return meta, err
			}
		}
	}
	for began := time.Now(); ; {
		r, err := b.readPoint(timeout-time.Since(began), mode == service.Consistent)
		if err != nil {
			return service.ReadMeta{}, err
		}
		if !r.Ticketed {
			revision, err := take()
			return b.readMeta(revision), b.damage(err)
		}
		if meta, done, err := b.takeUnderLease(r.Ticket, take); done {
			return meta, err
		}
	}
}

// takeUnderLease is a read at the master, whose epoch is ready; done is false if the lease or the epoch was lost.
func (b *KV) takeUnderLease(t replica.Ticket, take func() (uint64, error)) (m service.ReadMeta, done bool, err error) {
	m.KnownLeader = true
	for r := replica.NewReadRound(t); ; {
		switch r.Next() {
		case effect.Data:
			if m.Revision, err = take(); err != nil {
				return service.ReadMeta{}, true, b.damage(err)
			}
		case effect.Clock:
			now := b.cfg.Clock.Now()
			r.Read(now, b.cfg.Mastership.Load())
		case effect.Done:
			return m, r.Granted(), nil
		}
	}
}

// readPoint waits for a point from which this node's state may be read.
func (b *KV) readPoint(timeout time.Duration, consistent bool) (replica.Reply, error) {
	r, err := b.cfg.Log.ReadPoint(timeout, consistent)
	switch refused := untaken(err); {
	case refused != nil:
		return r, refused
	case err != nil:
		return r, fmt.Errorf("%w: no master answered in time; try again, or read with ?stale", service.ErrNotApplied)
	}
	return r, b.outcome(r)
}

// readMeta describes the state applied here.
func (b *KV) readMeta(revision uint64) service.ReadMeta {
	m := service.ReadMeta{Revision: revision}
	m.LastContact, m.KnownLeader = b.contact(b.cfg.Log.View(), b.cfg.Clock.Now())
	return m
}

// contact returns for how long this node has heard from no master, at most since it was started, and whether it knows
// one.
func (b *KV) contact(v *runner.LogView, now time.Duration) (ago time.Duration, master bool) {
	switch {
	case v.Master == b.cfg.Self:
		return 0, true
	case v.Heard == 0:
		return now - b.cfg.Started, false
	}
	return now - v.Heard, v.Master != 0
}

// damage ends the node if a read found damaged state: it never serves or votes from it.
func (b *KV) damage(err error) error {
	if err != nil {
		b.cfg.Lifecycle.Fail(err)
	}
	return err
}
