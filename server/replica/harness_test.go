package replica

import (
	"errors"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
)

// disk is a log.db in memory: what was persisted, and nothing else, survives a crash.
type disk struct {
	durable multipaxos.Durable
	entries map[multipaxos.Slot]multipaxos.Entry
	stateDB *kv.MemStateDB
	restart uint64
	// identity is the durable membership.
	identity ident.Membership
}

func newDisk() *disk {
	return &disk{entries: map[multipaxos.Slot]multipaxos.Entry{}, stateDB: kv.NewMemStateDB()}
}

func (d *disk) Entries(from, through multipaxos.Slot, maxBytes int) (out []multipaxos.Entry, err error) {
	for size := 0; from <= through && (size < maxBytes || len(out) == 0); from++ {
		if e, ok := d.entries[from]; ok {
			out = append(out, e)
			size += len(e.Value)
		}
	}
	return out, nil
}

func (d *disk) commit(p multipaxos.Persist) {
	d.durable.Promised = d.durable.Promised.Max(p.Promised)
	for _, e := range p.Entries {
		d.entries[e.Slot] = e
		d.durable.Last = max(d.durable.Last, e.Slot)
	}
	d.durable.Chosen = max(d.durable.Chosen, p.Chosen)
	for s := d.durable.Truncated + 1; s <= p.Truncate; s++ {
		delete(d.entries, s)
	}
	d.durable.Truncated = max(d.durable.Truncated, p.Truncate)
	d.durable.Last = max(d.durable.Last, d.durable.Truncated)
}

const (
	testLease  = 200 * time.Millisecond
	testMargin = 5 * time.Millisecond
)

var testTiming = lease.Timing{MaxMaster: testLease, MaxUser: time.Second, DriftPPM: 10_000, Margin: testMargin}

// testBase is membership 1 of these voters.
func testBase(voters quorum.Set) multipaxos.Membership {
	return multipaxos.Membership{Number: 1, Voters: voters}
}

// testMembers is membership 1 of these voters, as bootstrap writes it.
func testMembers(voters quorum.Set) ident.Membership {
	m := ident.Membership{Number: 1}
	for _, id := range voters.IDs() {
		m.Members = append(m.Members, ident.Member{Node: id, Store: ident.StoreID{byte(id)}})
	}
	return m
}

func testConfig(self ballot.Incarnation, voters quorum.Set) Config {
	return Config{
		Self: self, Membership: testMembers(voters), Timing: testTiming,
		Core: multipaxos.Config{Self: self, PageBytes: 4096, WindowEntries: 16, WindowBytes: 1 << 20,
			CacheBytes: 1 << 16, KeepEntries: 8, NeedOf: NeedOf, MembershipOf: MembershipOf},
		MaxBatchBytes: 4096, MaxInFlight: 2, MaxQueued: 64, MaxQueuedBytes: 1 << 20, MaxForwarded: 64, MaxReads: 64,
		ApplyBytes: 1 << 16, CheckpointBytes: 1 << 14, CheckpointLogBytes: 50 * (entryOverhead + 40),
		CompareEvery: time.Second,
	}
}

// testNode is one node of the simulated cluster: both parts, as the runner would drive them.
type testNode struct {
	id            ballot.NodeID
	disk          *disk
	up            bool
	paused        bool
	frozen        bool // its disk does not answer
	hangs         bool // its log has not ticked for a bound, says what its elector is shown
	elector       *elector.Part
	lease         *elector.Round
	log           *Log
	round         *LogRound
	events        []*Event
	state         *kv.State
	requires      uint64 // feature level
	pub           Published
	persists      []multipaxos.Persist
	checkpointing *kv.Frozen
	checkpointed  time.Duration // when that is done
	replies       map[uint64]Reply
	nextTick      time.Duration
	inForce       *ident.Membership      // to be made durable and put in force
	removed       bool                   // it has learned that it is no member any more
	handsOver     *Handover              // under way; nil: none is
	attempts      map[ballot.Ballot]bool // for the lease, in this run
	letGo         []elector.LetGo        // in this run
	differs       *Differs               // what it has ended of
}

// envelope is a message under way.
type envelope struct {
	at       time.Duration
	from, to ballot.NodeID
	lease    *lease.Message
	log      *multipaxos.Message
	peer     *Message
	health   *Health
}

// cluster is a network of testNodes in virtual time: one random seed, one run.
type cluster struct {
	t      *testing.T
	now    time.Duration
	random *rand.Rand
	nodes  []*testNode
	net    []envelope
	cut    func(from, to ballot.NodeID) bool // true: the message is lost
	large  ballot.NodeID                     // of this node frames above smallFrame are lost
	lastID uint64                            // of the requests about members
	loads  uint64                            // writes of load
	config func(*Config)                     // changes what every start begins with

	checkpointFor time.Duration // how long a checkpoint takes

	quarantine time.Duration // of who starts again or joins; 0: what testTiming makes it
}

// smallFrame is what a path takes that loses large frames.
const smallFrame = 100

// bytes is about how large the message is.
func (e *envelope) bytes() (n int) {
	if e.log != nil {
		for i := range e.log.Entries {
			n += len(e.log.Entries[i].Value)
		}
	}
	if e.peer != nil {
		for i := range e.peer.Writes {
			n += len(e.peer.Writes[i].Command)
		}
	}
	return n
}

func newCluster(t *testing.T, size int, seed uint64) *cluster {
	return newClusterWith(t, size, seed, func(*Config) {})
}

func newClusterWith(t *testing.T, size int, seed uint64, config func(*Config)) *cluster {
	c := &cluster{t: t, now: time.Second, random: rand.New(rand.NewPCG(seed, 1)), config: config,
		cut: func(_, _ ballot.NodeID) bool { return false }}
	for i := range size {
		n := &testNode{id: ballot.NodeID(i + 1), disk: newDisk()}
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		n.disk.identity = testMembers(c.voters())
	}
	for _, n := range c.nodes {
		c.start(n)
	}
	return c
}

func (c *cluster) voters() (s quorum.Set) {
	for i := range c.nodes {
		s.Add(ballot.NodeID(i + 1))
	}
	return s
}

func (c *cluster) start(n *testNode) {
	c.t.Helper()
	n.disk.restart++
	self := ballot.Incarnation{Node: n.id, Restart: n.disk.restart, Nonce: c.random.Uint64()}
	var quiet time.Duration
	if n.disk.restart > 1 {
		d, err := testTiming.Quarantine()
		if err != nil {
			c.t.Fatal(err)
		}
		quiet = c.now + max(d, c.quarantine)
	}
	var err error
	n.elector, err = elector.New(elector.Config{Self: self, Voters: n.disk.identity.Voters(), Timing: testTiming,
		Duration: testLease, Seed: self.Nonce, Membership: n.disk.identity.Number,
		Acceptor: lease.AcceptorConfig{Self: n.id, Timing: testTiming, SilentUntil: quiet}}, c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	n.lease = elector.NewRound(n.elector)
	if n.state, err = kv.Open(n.disk.stateDB, kv.DefaultLimits); err != nil {
		c.t.Fatal(err)
	}
	cfg := testConfig(self, quorum.Set{})
	cfg.Membership, cfg.Digest = n.disk.identity, n.disk.stateDB.Digest()
	c.config(&cfg)
	base, err := BaseMembership(n.state, n.disk.identity, n.disk.durable, n.disk)
	c.must(err)
	core, err := multipaxos.New(cfg.Core, base, n.disk.durable, n.disk)
	if err != nil {
		c.t.Fatal(err)
	}
	if n.log, err = NewLog(cfg, core, n.state); err != nil {
		c.t.Fatal(err)
	}
	n.round, n.events = NewLogRound(n.log), nil
	n.pub, n.persists, n.checkpointing, n.replies = Published{}, nil, nil, map[uint64]Reply{}
	n.attempts, n.letGo, n.inForce, n.handsOver = map[ballot.Ballot]bool{}, nil, nil, nil
	n.up, n.paused, n.nextTick, n.requires = true, false, c.now, 0
	c.tellInForce(n)
	for _, o := range c.nodes {
		if o != n && o.up {
			n.input(Event{Up: o.id})
			o.input(Event{Up: n.id})
		}
	}
}

// crash loses everything but the disk.
func (c *cluster) crash(n *testNode) {
	n.up = false
	for _, o := range c.nodes {
		if o != n && o.up {
			o.input(Event{Down: n.id})
		}
	}
}

// run lets d pass, a millisecond at a time.
func (c *cluster) run(d time.Duration) {
	for end := c.now + d; c.now < end; c.now += time.Millisecond {
		c.deliver()
		for _, n := range c.nodes {
			if n.up && !n.paused {
				c.round(n)
			}
		}
	}
}

// until runs until cond holds, and fails the test if it does not within limit.
func (c *cluster) until(what string, limit time.Duration, cond func() bool) {
	c.t.Helper()
	for end := c.now + limit; c.now < end; {
		if cond() {
			return
		}
		c.run(time.Millisecond)
	}
	c.t.Fatalf("%s: not within %v", what, limit)
}

func (c *cluster) deliver() {
	sort.SliceStable(c.net, func(i, j int) bool { return c.net[i].at < c.net[j].at })
	n := sort.Search(len(c.net), func(i int) bool { return c.net[i].at > c.now })
	due := c.net[:n]
	c.net = append([]envelope(nil), c.net[n:]...)
	for _, e := range due {
		if int(e.to) > len(c.nodes) {
			continue // it has not joined yet
		}
		n := c.nodes[e.to-1]
		if !n.up {
			continue
		}
		if n.paused {
			e.at = c.now + time.Millisecond
			c.net = append(c.net, e)
			continue
		}
		switch {
		case e.lease != nil:
			c.stepLease(n, elector.Event{Message: e.lease})
		case e.log != nil:
			n.input(Event{Log: e.log})
		case e.peer != nil:
			n.input(Event{Peer: e.peer})
		case e.health != nil:
			n.input(Event{Health: e.health, From: e.from, Heard: c.now})
		}
	}
}

// input keeps an event for the next round.
func (n *testNode) input(e Event) { n.events = append(n.events, &e) }

// round is what the runner does in a round, at one point of virtual time.
func (c *cluster) round(n *testNode) {
	c.stepLease(n, elector.Event{})
	if !n.frozen {
		for _, p := range n.persists {
			n.disk.commit(p)
			n.input(Event{Persisted: p.Seq})
		}
		n.persists = nil
	}
	c.putInForce(n)
	c.handOver(n)
	if n.checkpointing != nil && !n.frozen && c.now >= n.checkpointed {
		n.disk.stateDB.Merge(n.checkpointing.Checkpoint())
		n.input(Event{Checkpointed: true, Digest: n.disk.stateDB.Digest()})
		n.checkpointing = nil
	}
	if c.now >= n.nextTick {
		n.nextTick = c.now + TickEvery
		n.input(Event{Tick: true})
	}
	c.stepLog(n)
}

// stepLog is a round of the log part.
func (c *cluster) stepLog(n *testNode) {
	for {
		e, err := n.round.Next()
		if errors.As(err, &n.differs) {
			c.crash(n)
			return
		}
		c.must(err)
		if e == effect.Done {
			return
		}
		c.do(n, e)
	}
}

// stepLease is a round of the elector.
func (c *cluster) stepLease(n *testNode, event elector.Event) {
	for {
		switch n.lease.Next() {
		case effect.Take:
			n.lease.Add(event)
		case effect.Clock:
			v := elector.View{Barred: n.log.Standing(c.now).Barred}
			if n.hangs {
				v.Ticked, v.Able = c.now-elector.BoundFor(testLease), func() time.Duration { return c.now }
			}
			n.lease.Read(c.now, v)
		case effect.Lease:
			s := n.lease.State()
			n.pub = n.pub.WithLease(s)
			if n.lease.HasLetGo() {
				n.letGo = append(n.letGo, event.LetGo)
			}
		case effect.Send:
			for _, m := range n.lease.Messages() {
				if m.Kind == lease.KindPrepare {
					n.attempts[m.Ballot] = true
				}
				c.send(envelope{from: n.id, to: m.To, lease: &m})
			}
		case effect.Done:
			return
		}
	}
}

// do carries out an effect of the log part.
func (c *cluster) do(n *testNode, e effect.Effect) {
	out := n.round.Output()
	switch e {
	case effect.Take:
		for _, e := range n.events {
			n.round.Add(e)
		}
		n.events = nil
	case effect.Clock:
		n.round.Read(c.now, n.pub)
	case effect.Apply, effect.Freeze, effect.Checkpointed:
		c.must(n.round.Locked())
	case effect.Persist:
		n.persists = append(n.persists, out.Persists...)
	case effect.Ready:
		n.pub = n.pub.WithReady(out.Ready, out.Epoch)
	case effect.Level:
		n.requires = out.Level
	case effect.Progress:
		c.progress(n, out)
	case effect.Send:
		for _, m := range out.Log {
			c.send(envelope{from: n.id, to: m.To, log: &m})
		}
		for _, m := range out.Messages {
			c.send(envelope{from: n.id, to: m.To, peer: &m})
		}
	case effect.Reply:
		for _, r := range out.Replies {
			if _, twice := n.replies[r.ID]; twice {
				c.t.Fatalf("request %d of node %d was answered twice", r.ID, n.id)
			}
			n.replies[r.ID] = r
		}
	case effect.Checkpoint:
		n.checkpointing, n.checkpointed = out.Checkpoint, c.now+c.checkpointFor
	case effect.Members:
		n.inForce = out.Members
	case effect.Standing:
		if next, why := n.log.Relief(); next != 0 && n.handsOver == nil {
			n.handsOver = &Handover{Next: next, Why: why}
		}
	}
}

// progress sends the health, and has the lease released if the log part wants that (M6).
func (c *cluster) progress(n *testNode, out *Output) {
	for _, o := range c.nodes {
		if out.Health != nil && o != n {
			c.send(envelope{from: n.id, to: o.id, health: out.Health})
		}
	}
	if out.LetGo.Tenure != 0 {
		c.stepLease(n, elector.Event{LetGo: out.LetGo})
	}
}

// send keeps the order of each pair's log connection; lease messages take any time.
func (c *cluster) send(e envelope) {
	if c.cut(e.from, e.to) || (c.large != 0 && e.from == c.large && e.bytes() > smallFrame) {
		return
	}
	e.at = c.now + time.Millisecond
	if e.lease != nil {
		e.at += time.Duration(c.random.IntN(3)) * time.Millisecond
	}
	c.net = append(c.net, e)
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// master is the node that is ready and holds the lease now, or nil. Two are a failure.
func (c *cluster) master() *testNode {
	c.t.Helper()
	var found *testNode
	for _, n := range c.nodes {
		if t, ok := n.pub.Begin(); n.up && ok && n.pub.End(t, c.now) {
			if found != nil {
				c.t.Fatalf("nodes %d and %d both hold the lease", found.id, n.id)
			}
			found = n
		}
	}
	return found
}

func (c *cluster) awaitMaster() *testNode {
	c.t.Helper()
	c.until("a master", 3*time.Second, func() bool { return c.master() != nil })
	return c.master()
}

// write asks node n and waits for the answer.
func (c *cluster) write(n *testNode, id uint64, cmd kv.Command, wait time.Duration) Reply {
	c.t.Helper()
	n.input(Event{Write: &Write{ID: id, Command: kv.EncodeCommand(&cmd), Keyed: cmd.IdemKey != "",
		Frees: cmd.Op != kv.OpSet, Until: c.now + wait}})
	return c.await(n, id, wait)
}

func (c *cluster) await(n *testNode, id uint64, wait time.Duration) Reply {
	c.t.Helper()
	c.until("an answer", wait+200*time.Millisecond, func() bool { _, ok := n.replies[id]; return ok })
	return n.replies[id]
}

func set(key, value string) kv.Command {
	return kv.Command{Op: kv.OpSet, Key: key, Value: []byte(value)}
}

// settled checks that all running nodes hold the same state once they have applied the same slot.
func (c *cluster) settled() {
	c.t.Helper()
	c.until("equal states", 3*time.Second, func() bool {
		for _, n := range c.nodes {
			if n.up && n.state.Applied() != c.nodes[0].state.Applied() {
				return false
			}
		}
		return true
	})
	want, err := c.nodes[0].state.Digest()
	c.must(err)
	for _, n := range c.nodes {
		if got, err := n.state.Digest(); err != nil || got != want {
			c.t.Fatalf("node %d has another state at slot %d: %v", n.id, n.state.Applied(), err)
		}
	}
}
