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
	"tenure/server/replica"
	"tenure/storage"
)

// parts are the pure parts of a run, before anything runs them.
type parts struct {
	identity storage.Identity
	peers    []ballot.NodeID
	firstID  uint64 // of requests; another one in each run
	// began is the one reading from which A4 counts, the acceptors' silence and the second write alike.
	began      time.Duration
	quarantine lease.Quarantine
	silence    time.Duration // of the acceptor of named leases, from began on
	elector    *replica.Elector
	leases     *replica.Leases
	log        *replica.Log
	state      *kv.State
}

// startRun writes the start record (A4) and makes the parts for this run.
func (n *node) startRun(fresh bool) (*parts, error) {
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
	var seed [16]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("draw the boot nonce: %w", err)
	}
	n.self = ballot.Incarnation{Node: n.cfg.Node, Restart: stored.Restart + 1, Nonce: binary.BigEndian.Uint64(seed[:8])}
	err = n.store.Start(storage.StartRecord{Restart: n.self.Restart, Bucket: bucket.AtStart.Length,
		Quarantine: storage.Quarantine{Master: plan.AtStart, User: bucket.AtStart.Quarantine}})
	if err != nil {
		return nil, err
	}
	p := &parts{identity: n.store.Identity(), firstID: binary.BigEndian.Uint64(seed[8:]) >> 1,
		began: begin, quarantine: plan, silence: bucket.Silence}
	for _, m := range p.identity.Membership.Members {
		if m.Node != n.self.Node {
			p.peers = append(p.peers, m.Node)
		}
	}
	voters := p.identity.Membership.Voters()
	p.elector, err = replica.NewElector(replica.ElectorConfig{
		Self: n.self, Voters: voters, Timing: timing, Duration: n.cfg.LeaseTime, Seed: p.firstID,
		Acceptor: lease.AcceptorConfig{Self: n.self.Node, Timing: timing, Quarantine: plan.Deadline(begin)},
	}, begin)
	if err != nil {
		return nil, err
	}
	p.leases, err = replica.NewLeases(n.cfg.leases(n.self, p.identity.Membership, begin+bucket.Silence, bucket.AtStart,
		binary.BigEndian.Uint64(seed[4:])), begin)
	if err != nil {
		return nil, err
	}
	p.log, p.state, err = n.openLog(p.identity.Membership)
	return p, err
}

// openLog opens the state and the log from what the disk holds.
func (n *node) openLog(m ident.Membership) (*replica.Log, *kv.State, error) {
	state, err := kv.Open(n.store, kv.DefaultLimits)
	if err != nil {
		return nil, nil, err
	}
	cfg := n.cfg.replica(n.self, m)
	core, err := multipaxos.New(cfg.Core, n.store.Durable(), n.store)
	if err != nil {
		return nil, nil, err
	}
	log, err := replica.NewLog(cfg, core, state)
	if err != nil {
		return nil, nil, err
	}
	n.hub.Begin(historyBegins(state))
	state.Observe(kv.Observer{Changed: n.hub.Changed})
	return log, state, nil
}

// historyBegins returns the revision behind which this run sees every change. Of a new store those are all, so a client
// may ask for them from 0 on, although the store is at a higher revision.
func historyBegins(s *kv.State) uint64 {
	if s.Applied() == 0 {
		return 0
	}
	return s.Revision()
}
