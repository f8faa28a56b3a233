package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/access"
	"tenure/server/audit"
	"tenure/server/backend"
	"tenure/server/metrics"
	"tenure/server/replica"
	"tenure/server/replica/elector"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/transport"
	"tenure/server/watch"
	"tenure/storage"
)

// ErrConfig is wrapped by errors that a change of flags or of the data directory mends; the process exits with 78.
var ErrConfig = errors.New("configuration")

// Removed reports whether err, returned by Run, says that the node is no longer a member of its cluster. Its data
// directory is then of no use.
func Removed(err error) bool {
	return errors.Is(err, runner.ErrRemoved) || errors.Is(err, transport.ErrRemoved)
}

// ErrDamaged is wrapped by errors about damaged data. The node must not be started on that data again.
var ErrDamaged = storage.ErrDamaged

// ErrWiped is wrapped by the refusal of a node whose cluster knows it with another data directory.
var ErrWiped = transport.ErrWiped

// node is what a call of Run has opened.
type node struct {
	cfg       Config
	log       zerolog.Logger
	clock     *clock.Clock
	started   time.Duration            // for the uptime only: the run before may live until the data directory is locked
	addresses map[ballot.NodeID]string // of peers, as hints
	registry  *prometheus.Registry
	hub       *watch.Hub     // is told of changes while the state is held for writing
	front     *service.Front // what the listeners reach the node through
	ports     *ports
	tls       *secrets   // nil without TLS
	audit     *audit.Log // nil: nothing is written down
	slow      *slow.Log
	access    *access.Decider // nil: this node asks for no tokens
	tokens    chan struct{}   // tells of tokens all the same; capacity 1
	store     *storage.Store
	admission admitter           // of nodes that join; set before anybody can ask
	level     func() uint64      // the cluster's feature level, as applied; likewise
	self      ballot.Incarnation // of this run, from the start record on
}

// What the node waits for before it serves.
const (
	waitsForStore   = "this node opens its data directory"
	waitsForMembers = "this node is not a member of a formed cluster yet: it waits until every node of --cluster runs"
	waitsForItself  = "this node is a member, and begins to take part"
)

// errSnapshot ends a run whose node has received the state as a snapshot: the next run begins with it.
var errSnapshot = errors.New("a snapshot has been received")

// Run runs a node until ctx ends, then stops it in order and returns nil. An error means that the node could not start
// or had to stop: damage, a failed sync, a refusal by its cluster. A node that has received a snapshot ends its run in
// order and begins another one. All readers of the old state are gone then, and the new state is opened as at any
// start.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	tls, err := cfg.openTLS()
	if err != nil {
		return err
	}
	cfg.NodeName = tls.nodeName(cfg.NodeName)
	defer tls.watch(ctx, cfg.Reload)()
	began := time.Now()
	cfg.logStart()
	err = runAll(ctx, cfg, tls)
	if err == nil {
		cfg.logEnd(began)
	}
	return err
}

// Check returns the first reason in c, and in the files of TLS that it names, for which Run would refuse to start, or
// nil. Its errors wrap ErrConfig.
func (c Config) Check() error {
	if err := c.Validate(); err != nil {
		return err
	}
	_, err := c.openTLS()
	return err
}

// runAll is Run with a configuration that was checked.
func runAll(ctx context.Context, cfg Config, tls *secrets) error {
	if cfg.Join != "" {
		if err := cfg.tryAudit(); err != nil {
			return err // a node that cannot start is not let in first
		}
		id, err := cfg.becomeMember(ctx, tls)
		if err != nil || id == 0 {
			return err
		}
		cfg.Node = id
	}
	log, err := cfg.openAudit()
	if err != nil {
		return err
	}
	defer cfg.closeAudit(log)
	for {
		err := run(ctx, cfg, tls, log)
		var lost *transport.BootstrapError
		switch {
		case cfg.Rejoin && errors.As(err, &lost) && lost.Lost:
			cfg = cfg.rejoining(lost)
			if cfg.Node, err = cfg.becomeMember(ctx, tls); err != nil || cfg.Node == 0 {
				return err
			}
		case err != errSnapshot:
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// run is one run of a node.
func run(ctx context.Context, cfg Config, tls *secrets, log *audit.Log) error {
	n := newNode(cfg, tls)
	n.audit = log
	log.Register(n.registry)
	// The ports come before the data directory: one that is taken leaves an empty directory empty.
	if err := n.listen(); err != nil {
		return err
	}
	defer n.ports.close()
	defer n.tellStages()()
	return n.open(ctx)
}

func newNode(cfg Config, tls *secrets) *node {
	n := &node{
		cfg: cfg, tls: tls, log: cfg.Logger.With().Uint64("node", uint64(cfg.Node)).Logger(), clock: clock.New(),
		addresses: map[ballot.NodeID]string{}, registry: prometheus.NewRegistry(), hub: watch.New(cfg.watch()),
		tokens: make(chan struct{}, 1),
		front: service.NewFront(api.Status{Node: uint64(cfg.Node), Version: cfg.Version, Role: api.RoleNone,
			ACL: cfg.ACL, Problem: waitsForStore}),
	}
	n.started = n.clock.Now()
	n.access = n.newDecider()
	for _, a := range cfg.Cluster {
		n.addresses[a.Node] = a.Addr
	}
	n.addresses[cfg.Node] = cfg.peerAdvertised()
	n.slow = slow.New(n.registry, cfg.SlowRequest, n.log)
	metrics.Process(n.registry, cfg.Version, cfg.Revision)
	tls.register(n.registry)
	return n
}

// open opens the data directory, waits for membership, begins the run and serves. What it opens it closes.
func (n *node) open(ctx context.Context) error {
	var err error
	n.store, err = storage.Open(n.cfg.Data, storage.Options{QuotaBytes: n.cfg.QuotaBytes, Check: n.cfg.checkIdentity})
	if errors.Is(err, storage.ErrTooSmall) {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return err
	}
	defer n.store.Close()
	defer n.ports.close()
	for _, note := range n.store.Notes() {
		n.log.Warn().Msg(note)
	}
	if note := n.cfg.noteOf(n.store.Identity()); note != "" {
		n.log.Info().Msg(note)
	}
	if note := n.cfg.addressNote(n.store.Identity().Membership); note != "" {
		n.log.Warn().Msg(note)
	}
	if err := n.store.SetNode(n.cfg.Node); err != nil {
		return err
	}
	if n.store.Identity().Formed {
		n.front.SetProblem(waitsForItself)
	} else {
		n.front.SetProblem(waitsForMembers)
	}
	fresh, err := n.join(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if fresh {
		n.logFounded()
	}
	if err := n.tls.checkMember(n.store.Identity()); err != nil {
		return err
	}
	p, err := n.startRun(fresh)
	if err != nil {
		return err
	}
	return n.serve(ctx, n.wire(p))
}

// serve runs the runners until ctx ends or something fails, and returns when nobody reads the state any more. After a
// failure it waits for nobody: a disk that failed may hang too. It returns errSnapshot if another run is to begin.
func (n *node) serve(ctx context.Context, r *runners) error {
	ended := n.runUntil(ctx, r)
	if ended != nil && ended != errSnapshot {
		return ended
	}
	r.life.Wait()
	if r.life.Err() == nil {
		r.guardian.close() // in any other case it is left to speak
	}
	n.ports.close() // the last requests may meet damage until here
	if err := r.life.Err(); err != nil {
		return err
	}
	return ended
}

// runUntil runs the runners until ctx ends or a snapshot has been received, and gives mastership up then, or until
// something fails.
func (n *node) runUntil(ctx context.Context, r *runners) error {
	for _, loops := range r.loops() {
		r.life.Go(loops)
	}
	id := n.store.Identity()
	n.ports.peers.Serve(r.peers, id.Membership, n.addresses)
	n.front.Serve(r.backend)
	n.log.Info().Str("client", n.cfg.ClientAddr).Str("peer", n.cfg.PeerAddr).Stringer("cluster", id.Cluster).
		Uint64("restart", n.self.Restart).Msg("serving")

	var err error
	select {
	case <-ctx.Done():
		n.awaitOthers(r)
		n.stop(r)
	case <-r.snapshot.Received():
		n.stop(r)
		err = errSnapshot
	case <-r.life.Failed():
	case text := <-n.ports.removed:
		err = fmt.Errorf("%w: %s", runner.ErrRemoved, text)
	case <-n.tokens:
		n.stop(r)
		err = errNeedsACL
	case err = <-n.ports.served:
		err = fmt.Errorf("the client port stopped serving: %w", err)
	}
	r.life.End()
	if failed := r.life.Err(); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// stop ends in order what a node does for others.
func (n *node) stop(r *runners) {
	r.life.Stop()
	n.ports.clients.EndWaits()
	n.ports.clients.AwaitWaits(endWaitsFor) // they read once more, which the log soon refuses
	r.leases.Refuse()
	r.handover.Give(0, elector.CauseStopping)
	n.flushPeers()
}

// awaitOthers waits until the other voters could elect a master without this node, for StopWait at most, and only for
// hopeFor if they are no majority. After its start a node is silent about the master lease (A4): somebody who restarts
// one node after the other, and is too quick, must not leave the cluster without a master.
func (n *node) awaitOthers(r *runners) {
	began, told := time.Now(), false
	for took := time.Duration(0); took < n.cfg.StopWait; took = time.Since(began) {
		a := r.log.View().Absence
		if a.Harmless() || !a.Enough && took > hopeFor {
			return
		}
		if a.Enough && !told {
			told = true
			n.log.Info().Str("why", backend.AbsenceOf(&a).Why).Msg("this node stops when the others can go on without it")
		}
		select {
		case <-time.After(replica.TickEvery):
		case <-r.life.Failed():
			return
		}
	}
}

// hopeFor is how long a node that is to stop waits for a majority without it: one that was just started may connect.
const hopeFor = 250 * time.Millisecond

// endWaitsFor bounds how long the queries that wait may take to be answered when the node stops. A read takes a round
// of messages, or longer than anybody should wait while there is no master.
const endWaitsFor = 500 * time.Millisecond

// flushPeers lets the Release leave before the connections end.
func (n *node) flushPeers() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
	defer cancel()
	if err := n.ports.peers.Flush(ctx); err != nil {
		n.log.Warn().Err(err).Msg("not everything reached the peers before the stop")
	}
}
