package backend

import (
	"errors"
	"fmt"
	"time"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/web"
)

// Get reads one key.
func (b *KV) Get(timeout time.Duration, mode web.Mode, key string) (
	e kv.Entry, found bool, meta web.ReadMeta, err error) {
	meta, err = b.read(timeout, mode, func() (uint64, error) {
		var revision uint64
		var err error
		e, found, revision, err = b.cfg.State.Get(key)
		return revision, err
	})
	return e, found, meta, err
}

// Snapshot returns a consistent view of the whole state.
func (b *KV) Snapshot(timeout time.Duration, mode web.Mode) (*kv.Snapshot, web.ReadMeta, error) {
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

// read takes data with take under the promise of mode.
func (b *KV) read(timeout time.Duration, mode web.Mode, take func() (uint64, error)) (web.ReadMeta, error) {
	if mode == web.Stale {
		revision, err := take()
		return b.readMeta(revision), b.damage(err)
	}
	if mode == web.Default {
		if t, ok := b.cfg.Mastership.Load().Begin(); ok {
			if meta, done, err := b.takeUnderLease(t, take); done {
				return meta, err
			}
		}
	}
	for began := time.Now(); ; {
		r, err := b.readPoint(timeout-time.Since(began), mode == web.Consistent)
		if err != nil {
			return web.ReadMeta{}, err
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
func (b *KV) takeUnderLease(t replica.Ticket, take func() (uint64, error)) (m web.ReadMeta, done bool, err error) {
	m.KnownLeader = true
	for r := replica.NewReadRound(t); ; {
		switch r.Next() {
		case replica.EffectData:
			if m.Revision, err = take(); err != nil {
				return web.ReadMeta{}, true, b.damage(err)
			}
		case replica.EffectClock:
			now := b.cfg.Clock.Now()
			r.Read(now, b.cfg.Mastership.Load())
		case replica.EffectDone:
			return m, r.Granted(), nil
		}
	}
}

// readPoint waits for a point from which this node's state may be read.
func (b *KV) readPoint(timeout time.Duration, consistent bool) (replica.Reply, error) {
	r, err := b.cfg.Log.ReadPoint(timeout, consistent)
	switch {
	case errors.Is(err, runner.ErrOverloaded):
		return r, overloaded(err)
	case err != nil:
		return r, fmt.Errorf("%w: no master answered in time; try again, or read with ?stale", web.ErrNotApplied)
	}
	return r, b.outcome(r)
}

// readMeta describes the state applied here.
func (b *KV) readMeta(revision uint64) web.ReadMeta {
	v := b.cfg.Log.View()
	now := b.cfg.Clock.Now()
	m := web.ReadMeta{Revision: revision}
	switch {
	case v.Master == b.cfg.Self:
		m.KnownLeader = true
	case v.Heard == 0:
		m.LastContact = now
	default:
		m.LastContact, m.KnownLeader = now-v.Heard, v.Master != 0
	}
	return m
}

// damage ends the node if a read found damaged state: it never serves or votes from it.
func (b *KV) damage(err error) error {
	if err != nil {
		b.cfg.Lifecycle.Fail(err)
	}
	return err
}
