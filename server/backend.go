package server

import (
	"fmt"
	"slices"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/web"
)

// The node as its HTTP API sees it: implements web.Backend.

// Write has the command applied through the master, wherever it is.
func (n *Node) Write(patience time.Duration, c kv.Command) (kv.Result, error) {
	w := newAsk()
	ok := n.inbox.putClient(event{reply: w.reply, Event: replica.Event{Write: &replica.Request{
		ID: n.nextID.Add(1), Command: kv.EncodeCommand(&c), Keyed: c.IdemKey != "" || repeatable(c.Op),
		Frees: c.Frees(), Wait: max(patience, 1),
	}}})
	if !ok {
		return kv.Result{}, tooMany()
	}
	if r, ok := w.wait(patience, n.ended); ok {
		return r.Result, n.outcomeError(r)
	}
	return kv.Result{}, fmt.Errorf("%w: no answer in time; the write may have been applied, or may still be", web.ErrUnknown)
}

// repeatable tells whether a second copy of op does nothing more, however late it comes: a session is renewed while it
// lives, and ends once.
func repeatable(op kv.Op) bool { return op == kv.OpSessionRenew || op == kv.OpSessionDestroy }

func tooMany() error {
	return fmt.Errorf("%w: too many requests are waiting on this node; try again later", web.ErrOverloaded)
}

// outcomeError is what the client is told of r.
func (n *Node) outcomeError(r replica.Reply) error {
	switch r.Outcome {
	case replica.Done:
		return nil
	case replica.Refused:
		if r.Reason == replica.NoSpace {
			return fmt.Errorf("%w: %s; delete keys or make space there, then try again", web.ErrNoSpace, n.noSpace())
		}
		if r.Reason == replica.Overloaded {
			return fmt.Errorf("%w: %s; try again later", web.ErrOverloaded, r.Reason)
		}
		return fmt.Errorf("%w: %s; try again", web.ErrNotApplied, r.Reason)
	}
	return fmt.Errorf("%w: %s; the write may have been applied, or may still be", web.ErrUnknown, r.Reason)
}

// Get reads one key.
func (n *Node) Get(patience time.Duration, mode web.Mode, key string) (e kv.Entry, found bool, meta web.ReadMeta, err error) {
	meta, err = n.read(patience, mode, func() (uint64, error) {
		n.stateMu.RLock()
		defer n.stateMu.RUnlock()
		var err error
		e, found, err = n.state.Get(key)
		return n.state.Revision(), err
	})
	return e, found, meta, err
}

// Session is a session as applied here.
func (n *Node) Session(id string) (kv.Session, bool) {
	n.stateMu.RLock()
	defer n.stateMu.RUnlock()
	return n.state.Session(id)
}

// Snapshot is a consistent view of the whole state.
func (n *Node) Snapshot(patience time.Duration, mode web.Mode) (*kv.Snapshot, web.ReadMeta, error) {
	var snap *kv.Snapshot
	meta, err := n.read(patience, mode, func() (uint64, error) {
		if snap != nil {
			snap.Close()
			snap = nil
		}
		n.stateMu.Lock()
		defer n.stateMu.Unlock()
		var err error
		if snap, err = n.state.Snapshot(); err != nil {
			return 0, err
		}
		return n.state.Revision(), nil
	})
	if err != nil && snap != nil {
		snap.Close()
		snap = nil
	}
	return snap, meta, err
}

// read takes data with take under the promise of mode. For a read under the lease the order is: the epoch is ready,
// the data is taken, and only then the clock is read once and the lease checked.
func (n *Node) read(patience time.Duration, mode web.Mode, take func() (uint64, error)) (web.ReadMeta, error) {
	if mode == web.Stale {
		revision, err := take()
		return n.readMeta(revision), n.damage(err)
	}
	if mode == web.Default {
		if t, ok := n.gate.load().Begin(); ok {
			if meta, done, err := n.takeUnderLease(t, take); done {
				return meta, err
			}
		}
	}
	for began := time.Now(); ; {
		r, err := n.readPoint(patience-time.Since(began), mode == web.Consistent)
		if err != nil {
			return web.ReadMeta{}, err
		}
		if !r.Ticketed {
			revision, err := take()
			return n.readMeta(revision), n.damage(err)
		}
		if meta, done, err := n.takeUnderLease(r.Ticket, take); done {
			return meta, err
		}
	}
}

// takeUnderLease is the second half of a read at the master; done is false if the lease or the epoch was lost.
func (n *Node) takeUnderLease(t replica.Ticket, take func() (uint64, error)) (web.ReadMeta, bool, error) {
	revision, err := take()
	now := n.clock.Now()
	if err != nil {
		return web.ReadMeta{}, true, n.damage(err)
	}
	if !n.gate.load().End(t, now) {
		return web.ReadMeta{}, false, nil
	}
	return web.ReadMeta{Revision: revision, KnownLeader: true}, true, nil
}

// readPoint waits for a point from which this node's state may be read.
func (n *Node) readPoint(patience time.Duration, consistent bool) (replica.Reply, error) {
	r := newAsk()
	if !n.inbox.putClient(event{reply: r.reply, Event: replica.Event{
		Read: &replica.ReadRequest{ID: n.nextID.Add(1), Consistent: consistent, Wait: max(patience, 1)}}}) {
		return replica.Reply{}, tooMany()
	}
	if reply, ok := r.wait(patience, n.ended); ok {
		return reply, n.outcomeError(reply)
	}
	return replica.Reply{}, fmt.Errorf("%w: no master answered in time; try again, or read with ?stale", web.ErrNotApplied)
}

// readMeta describes the state applied here.
func (n *Node) readMeta(revision uint64) web.ReadMeta {
	v := n.logView.Load()
	now := n.clock.Now()
	m := web.ReadMeta{Revision: revision}
	switch {
	case v.master == n.self.Node:
		m.KnownLeader = true
	case v.heard == 0:
		m.LastContact = now
	default:
		m.LastContact, m.KnownLeader = now-v.heard, v.master != 0
	}
	return m
}

// damage ends the node if a read found damaged state: it never serves or votes from it.
func (n *Node) damage(err error) error {
	if err != nil {
		n.fail(err)
	}
	return err
}

// Leader is the peer address of the master, or "".
func (n *Node) Leader() string { return n.addresses[n.logView.Load().master] }

// Peers lists the peer addresses of the members.
func (n *Node) Peers() []string {
	out := make([]string, 0, len(n.membership.Members))
	for _, m := range n.membership.Members {
		if a := n.addresses[m.Node]; a != "" {
			out = append(out, a)
		}
	}
	return out
}

// Ready is nil if the node knows a master that is ready, and is caught up.
func (n *Node) Ready() error {
	v := n.logView.Load()
	switch {
	case n.stopping.Load():
		return fmt.Errorf("this node is stopping")
	case v.master == 0:
		return fmt.Errorf("no master is known")
	case !v.caughtUp:
		if slices.Contains(v.full, n.self.Node) {
			return fmt.Errorf("this node has applied slot %d and cannot catch up: %s", v.applied, n.fullNodes())
		}
		return fmt.Errorf("this node has applied slot %d and is catching up with the master", v.applied)
	}
	return nil
}

// role is what this node is now.
func (n *Node) role(master ballot.NodeID) string {
	switch {
	case !n.membership.Lists(n.self.Node, n.store.Identity().Store):
		return api.RoleNonVoter
	case master == n.self.Node:
		return api.RoleMaster
	}
	return api.RoleFollower
}
