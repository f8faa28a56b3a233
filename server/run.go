package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/transport"
	"tenure/server/watch"
	"tenure/server/web"
	"tenure/server/wire"
	"tenure/storage"
)

// ErrConfig is wrapped by errors that a change of flags or of the data directory mends; the process exits with 2.
var ErrConfig = errors.New("configuration")

// Run runs a node until ctx ends, then stops it in order and returns nil. An error means that the node could not start
// or had to stop: damage, a failed sync, a refusal by its cluster.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	n := &Node{
		cfg: cfg, clock: clock.New(), log: cfg.Logger.With().Uint64("node", uint64(cfg.Node)).Logger(),
		gate: newGate(), inbox: newInbox[event](), nudged: make(chan struct{}, 1), persister: newPersister(),
		leaseIn: make(chan leaseEvent, maxLeaseEvents), checkpointIn: make(chan *kv.Frozen, 1),
		failed: make(chan error, 1), ended: make(chan struct{}), addresses: map[ballot.NodeID]string{},
		hub: watch.New(cfg.watch()),
	}
	n.startedAt = n.clock.Now()
	for _, a := range cfg.Cluster {
		n.addresses[a.Node] = a.Addr
	}
	n.logView.Store(&logView{})
	n.standing.Store(&replica.Standing{})
	n.leaseView.Store(&leaseView{})
	return n.open(ctx)
}

// open takes the resources in order, each released when the function ends: the data directory and its lock, the client
// port, the peer port; then membership, and then the loops.
func (n *Node) open(ctx context.Context) error {
	store, err := storage.Open(n.cfg.Data, storage.Options{QuotaBytes: n.cfg.QuotaBytes, Check: n.cfg.checkIdentity})
	if errors.Is(err, storage.ErrTooSmall) {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return err
	}
	defer store.Close()
	n.store = store
	for _, note := range store.Notes() {
		n.log.Warn().Msg(note)
	}
	if err := store.SetNode(n.cfg.Node); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	n.metrics = newMetrics(registry)
	registerBuild(registry, n.cfg)
	front := &door{waiting: api.Status{Node: uint64(n.cfg.Node), Version: n.cfg.Version, Role: api.RoleNonVoter,
		Problem: "this node is not a member of a formed cluster yet: it waits until every node of --cluster runs"}}
	site, err := web.New(web.Config{Addr: n.cfg.ClientAddr, MaxValueBytes: n.cfg.MaxValueBytes, Version: n.cfg.Version, Revision: n.cfg.Revision, Node: n.cfg.Node, NodeName: n.cfg.NodeName,
		Insecure: n.cfg.Insecure, Logger: n.log, Registry: registry, Hub: n.hub, SessionTTLMin: n.cfg.SessionTTLMin, MaxLeaseTime: n.cfg.MaxLeaseTime}, front)
	if err != nil {
		return err
	}
	if err := site.Listen(); err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- site.Serve() }()
	defer shutDown(site)
	endAdmin, err := listenAdmin(n.cfg.AdminAddr)
	if err != nil {
		return err
	}
	defer endAdmin()
	n.transport, err = transport.Listen(transport.Config{Self: n.cfg.Node, Addr: n.cfg.PeerAddr, Hello: n.hello, Log: n.log})
	if err != nil {
		return err
	}
	defer n.transport.Close()
	fresh, err := n.join(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := n.startRun(fresh); err != nil {
		return err
	}
	n.startGuardian()
	n.counted = &keyCount{count: n.countKeys}
	n.registerGauges(registry)
	n.registerPeers(registry)
	n.loop.stages = stages{m: newStageMetrics(registry, n.peers)}
	return n.serve(ctx, site, front, served)
}

// shutDown lets clients take their last answers; what is still open after shutdownFor is cut off.
func shutDown(site *web.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
	defer cancel()
	_ = site.Shutdown(ctx) // the error only says that some were cut off
}

// shutdownFor is how long a stopping node lets its clients take their last answers.
const shutdownFor = 500 * time.Millisecond

// join finds this node's membership, or takes part in the founding of its cluster. fresh is true only if this very run
// did: then there can be nothing older that A4 would have to wait for.
func (n *Node) join(ctx context.Context) (fresh bool, err error) {
	list := make([]wire.Address, 0, len(n.cfg.Cluster))
	for _, a := range n.cfg.Cluster {
		list = append(list, wire.Address(a))
	}
	_, n.membership, fresh, err = n.transport.Bootstrap(ctx, transport.BootstrapConfig{
		Self: n.cfg.Node, Store: n.store.Identity().Store, List: list, Found: n.store.Found,
		Formed: func() (ident.ClusterID, ident.Membership, bool) {
			id := n.store.Identity()
			return id.Cluster, id.Membership, id.Formed
		},
	})
	if errors.Is(err, transport.ErrLists) {
		return false, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return false, err
	}
	if !n.store.Identity().TakesPart() {
		return false, fmt.Errorf("%w: node %d with store %s is not in membership %s of this data directory",
			ErrConfig, n.cfg.Node, n.store.Identity().Store, n.membership)
	}
	return fresh, nil
}

// hello is what this node says of itself to a peer. Its marks are durable ones.
func (n *Node) hello() wire.Hello {
	id, d := n.store.Identity(), n.store.Durable()
	return wire.Hello{
		Cluster: id.Cluster, Node: n.cfg.Node, Store: id.Store, Incarnation: n.self, ClientAddr: n.cfg.ClientAddr,
		Constants: wire.Constants{LeaseTime: n.cfg.LeaseTime, MaxLeaseTime: n.cfg.MaxLeaseTime,
			DriftPPM: n.cfg.ClockDriftPPM, Margin: n.cfg.LeaseMargin},
		Marks: wire.Marks{Promised: d.Promised, Accepted: uint64(d.Last)},
	}
}

// startRun writes the start record (A4) and builds the cores for this run.
func (n *Node) startRun(fresh bool) error {
	begin := n.clock.Now()
	timing := n.cfg.timing()
	stored := n.store.StartRecord()
	plan, err := lease.PlanQuarantine(stored.Quarantine.Master, timing, fresh)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	bucket, err := named.PlanBucket(named.Bucket{Length: stored.Bucket, Quarantine: stored.Quarantine.User}, timing, fresh)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	var seed [16]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return fmt.Errorf("draw the boot nonce: %w", err)
	}
	n.self = ballot.Incarnation{Node: n.cfg.Node, Restart: stored.Restart + 1, Nonce: binary.BigEndian.Uint64(seed[:8])}
	err = n.store.Start(storage.StartRecord{Restart: n.self.Restart, Bucket: bucket.AtStart.Length,
		Quarantine: storage.Quarantine{Master: plan.AtStart, User: bucket.AtStart.Quarantine}})
	if err != nil {
		return err
	}
	n.quarantine, n.quarantineBegan = plan, begin
	n.nextID.Store(binary.BigEndian.Uint64(seed[8:]) >> 1)
	for _, m := range n.membership.Members {
		if m.Node != n.self.Node {
			n.peers = append(n.peers, m.Node)
		}
	}
	n.healths = newHealths(n.peers)
	n.elector, err = replica.NewElector(replica.ElectorConfig{
		Self: n.self, Voters: n.membership.Voters(), Timing: timing, Duration: n.cfg.LeaseTime, Seed: n.nextID.Load(),
		Acceptor: lease.AcceptorConfig{Self: n.self.Node, Timing: timing, Quarantine: plan.Deadline(begin)},
	}, begin)
	if err != nil {
		return err
	}
	cluster := n.store.Identity().Cluster
	n.leaseKey = cluster[:]
	leases, err := replica.NewLeases(n.cfg.leases(n.self, n.membership, begin+bucket.Silence, bucket.AtStart, binary.BigEndian.Uint64(seed[4:])), begin)
	if err != nil {
		return err
	}
	n.named = newNamedLoop(n, leases, begin+bucket.Silence)
	return n.openLog()
}

// openLog opens the state and the log core from what the disk holds.
func (n *Node) openLog() error {
	state, err := kv.Open(n.store, kv.DefaultLimits)
	if err != nil {
		return err
	}
	cfg := n.cfg.replica(n.self, n.membership)
	core, err := multipaxos.New(cfg.Core, n.store.Durable(), n.store)
	if err != nil {
		return err
	}
	part, err := replica.NewLog(cfg, core, state)
	if err != nil {
		return err
	}
	n.state = state
	n.hub.Begin(historyBegins(state))
	state.Observe(kv.Observer{Changed: n.hub.Changed})
	n.loop = newLogLoop(n, part)
	return nil
}

// historyBegins is the revision behind which this run sees every change. Of a new store those are all, so a client may
// ask for them from 0 on, although the store is at a higher revision.
func historyBegins(s *kv.State) uint64 {
	if s.Applied() == 0 {
		return 0
	}
	return s.Revision()
}

// serve runs the loops until ctx ends or one of them fails.
func (n *Node) serve(ctx context.Context, site *web.Server, front *door, served <-chan error) error {
	stop, stopLoops := context.WithCancel(context.Background())
	defer stopLoops()
	var loops errgroup.Group
	for _, run := range []func(<-chan struct{}) error{n.runPersister, n.runCheckpointer, n.loop.run, n.runWatcher, n.runLease, n.named.run, n.named.runBuckets,
		n.runVerifier} {
		loops.Go(func() error {
			err := run(stop.Done())
			if err != nil {
				n.fail(err)
			}
			return err
		})
	}
	n.transport.Serve(n, n.membership, n.addresses)
	front.node.Store(n)
	n.log.Info().Str("client", n.cfg.ClientAddr).Str("peer", n.cfg.PeerAddr).Stringer("cluster", n.store.Identity().Cluster).
		Uint64("restart", n.self.Restart).Msg("serving")

	var err error
	select {
	case <-ctx.Done():
		n.stopping.Store(true)
		site.EndWaits()
		n.named.stop()
		n.handOver(0, replica.CauseStopping)
		n.flushPeers()
	case err = <-n.failed:
	case err = <-served:
		err = fmt.Errorf("the client port stopped serving: %w", err)
	}
	close(n.ended)
	n.inbox.close()
	n.named.inbox.close()
	n.endLoops(stopLoops)
	if err != nil {
		return err // without waiting: a disk that failed may hang too
	}
	err = loops.Wait()
	n.inbox.quiet()
	n.named.inbox.quiet()
	n.guard.close() // in any other case it is left to speak
	return err
}

// endLoops tells the loops to end. A checkpoint that waits for space would hold up its loop, and the scrub behind it,
// for as long as there is none; commits still end as they began.
func (n *Node) endLoops(stop context.CancelFunc) {
	stop()
	n.store.Interrupt()
}

// flushPeers lets the Release leave before the connections end.
func (n *Node) flushPeers() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
	defer cancel()
	if err := n.transport.Flush(ctx); err != nil {
		n.log.Warn().Err(err).Msg("not everything reached the peers before the stop")
	}
}

var _ transport.Handler = (*Node)(nil)
