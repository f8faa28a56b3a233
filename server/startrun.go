package server

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/replica/elector"
	"tenure/server/replica/leases"
	"tenure/server/runner"
	"tenure/storage"
)

// parts are the pure parts of a run, before anything runs them.
type parts struct {
	identity storage.Identity
	firstID  uint64 // of requests; another one in each run
	// began is the one reading from which A4 counts, the acceptors' silence and the second write alike.
	began      time.Duration
	quarantine lease.Quarantine
	silence    time.Duration    // of the acceptor of named leases, from began on
	exclusion  [2]time.Duration // how long a master lease and a named one may live that this node has granted
	elector    *elector.Part
	leases     *leases.Part
	log        *replica.Log
	state      *kv.State
	roster     ident.Roster // as the disk has it
}

// startRun writes the start record (A4) and makes the parts for this run.
func (n *node) startRun(fresh bool) (*parts, error) {
	state, err := n.openState()
	if err != nil {
		return nil, err
	}
	begin := n.clock.Now()
	timing := n.cfg.timing()
	stored := n.store.StartRecord()
	plan, err := lease.PlanQuarantine(stored.Quarantine.Master, timing, fresh)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	bucket, err := named.PlanBucket(named.Bucket{Length: stored.Bucket, Quarantine: stored.Quarantine.User}, timing, fresh)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	master, err := timing.Exclusion(timing.MaxMaster)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	longest, err := timing.Exclusion(timing.MaxUser)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	var seed [16]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("draw the boot nonce: %w", err)
	}
	n.self = ballot.Incarnation{Node: n.cfg.Node, Restart: stored.Restart + 1, Nonce: binary.BigEndian.Uint64(seed[:8])}
	err = n.store.Start(storage.StartRecord{Restart: n.self.Restart, Bucket: bucket.AtStart.Length,
		Quarantine: storage.Quarantine{Master: plan.AtStart, User: bucket.AtStart.Quarantine}, Longest: longest})
	if err != nil {
		return nil, err
	}
	p := &parts{identity: n.store.Identity(), state: state, firstID: binary.BigEndian.Uint64(seed[8:]) >> 1,
		began: begin, quarantine: plan, silence: bucket.Silence,
		exclusion: [2]time.Duration{master, longest}}
	m := p.identity.Membership
	p.elector, err = elector.New(elector.Config{
		Self: n.self, Membership: m.Number, Voters: m.Voters(), Timing: timing, Duration: n.cfg.LeaseTime, Seed: p.firstID,
		Acceptor: lease.AcceptorConfig{Self: n.self.Node, Timing: timing, SilentUntil: plan.Deadline(begin)},
	}, begin)
	if err != nil {
		return nil, err
	}
	p.leases, err = leases.New(n.cfg.leases(n.self, m, begin+bucket.Silence, bucket.AtStart,
		binary.BigEndian.Uint64(seed[4:])), begin)
	if err != nil {
		return nil, err
	}
	if p.roster, err = rosterOf(state, p.identity); err != nil {
		return nil, err
	}
	p.log, err = n.openLog(state, p.identity)
	return p, err
}

// rosterOf returns the roster on disk: the nodes that take part, and the nodes that must not come back by themselves.
// The record in the state may be missing, or older than the identity. An id that any of them lists has been given out.
func rosterOf(state *kv.State, id storage.Identity) (ident.Roster, error) {
	record := members.First(id.Membership)
	if b := state.Members(); b != nil {
		var err error
		if record, err = members.Decode(b); err != nil {
			return ident.Roster{}, err
		}
	}
	r := record.Roster()
	for _, m := range [...]ident.Membership{id.Membership, id.Bootstrap} {
		r.NextNode = max(r.NextNode, members.First(m).NextNode)
	}
	return r, nil
}

// openState opens the state on disk. A crash or a snapshot may have left the identity behind the state's membership, so
// openState makes that membership durable in the identity before either lease part answers. It does not store a
// membership without this node: the node stays until the others no longer need it, and the log part says when.
func (n *node) openState() (*kv.State, error) {
	state, err := kv.Open(n.store, kv.DefaultLimits)
	if err != nil {
		return nil, err
	}
	if record := state.Members(); record != nil {
		r, err := members.Decode(record)
		if err != nil {
			return nil, err
		}
		if id := n.store.Identity(); r.Membership.Lists(id.Node, id.Store) {
			if err := n.store.SetMembership(r.Membership); err != nil {
				return nil, err
			}
		}
	}
	if id := n.store.Identity(); !id.TakesPart() {
		return nil, fmt.Errorf("%w: node %d is not in membership %s", runner.ErrRemoved, id.Node, id.Membership)
	}
	return state, nil
}

// openLog opens the log that the disk holds. The slots below the first change of the members are decided by the
// membership of the bootstrap, which a node that has joined learns from its peers.
func (n *node) openLog(state *kv.State, id storage.Identity) (*replica.Log, error) {
	first := id.Bootstrap
	if first.Number == 0 {
		first = id.Membership
	}
	cfg, durable := n.cfg.replica(n.self, id.Membership), n.store.Durable()
	base, err := replica.BaseMembership(state, first, durable, n.store)
	if err != nil {
		return nil, err
	}
	_, cfg.Digest = n.store.Digest()
	core, err := multipaxos.New(cfg.Core, base, durable, n.store)
	if err != nil {
		return nil, err
	}
	log, err := replica.NewLog(cfg, core, state)
	if err != nil {
		return nil, err
	}
	n.hub.Begin(historyBegins(state))
	state.Observe(kv.Observer{Changed: n.hub.Changed})
	return log, n.followACL(state)
}

// historyBegins returns the revision behind which this run sees every change. Of a new store those are all, so a client
// may ask for them from 0 on, although the store is at a higher revision.
func historyBegins(s *kv.State) uint64 {
	if s.Applied() == 0 {
		return 0
	}
	return s.Revision()
}
