package script

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
)

// cluster is a whole cluster of replicas in virtual time, with disks that never fail. Time passes in steps: in each, a
// node that is not paused takes what has arrived, and then does one round of the runner's loops. A message arrives with
// the next step, a commit ends with it.
type cluster struct {
	now     time.Duration
	nodes   []*replicaNode
	network network[envelope]
	tell    teller
	watch   bool   // tell each Accept that is sent
	master  string // as last told
	broken  error  // a rule that the stage watches did not hold

	answers map[string]string // that clients have had, by label
}

// none is nobody, where a script names a node.
const none = "none"

// step is what a message or a commit takes.
const step = 10 * time.Millisecond

// envelope is a body on its way, as package wire makes them for the two connections of a pair of nodes.
type envelope struct {
	from, to ballot.NodeID
	lease    bool // on the lease connection; else on that of the log
	body     []byte
}

// replicaNode is a process and its disk, as package server would run them.
type replicaNode struct {
	id            ballot.NodeID
	offset        time.Duration // its clock reads that much more than the script's time
	disk          *memDisk
	lease         *elector.Round
	log           *replica.Log
	round         *replica.LogRound
	due           effect.Effect // handed out by round, and not yet carried out; 0: none
	within        bool          // a round is under way
	events        []*replica.Event
	state         *kv.State
	pub           replica.Published
	persists      []multipaxos.Persist
	checkpointing *kv.Frozen
	nextTick      time.Duration // reading of its clock

	paused bool
	at     pausePoint
	held   []envelope // came during the pause: they wait in the kernel

	labels map[uint64]string // of requests that wait for their answer, by id
	reads  map[uint64]string // the keys of those that are reads
	taken  []takenRead       // data is taken, the lease not yet checked again
	nextID uint64
}

// takenRead is a read under the lease between its two halves.
type takenRead struct {
	label, value string
	round        replica.ReadRound
}

// pausePoint is where in its code a process is stopped.
type pausePoint string

// The points. At each of them a pause can come between reading a clock and using the reading.
const (
	betweenRounds pausePoint = "between-rounds"
	beforePropose pausePoint = "before-propose" // the log loop has read its clock, and not yet proposed what waits
	beforeAnswer  pausePoint = "before-answer"  // it has applied what is chosen, and not yet read its clock again
)

func openCluster(c *Command) (Stage, error) {
	n := int(c.Number("nodes", 3))
	duration := c.Time("lease", 30*time.Second)
	timing := lease.Timing{MaxMaster: duration, MaxUser: duration, DriftPPM: c.Number("drift", 100),
		Margin: c.Time("margin", 10*time.Millisecond)}
	if n < 1 || n > quorum.MaxVoters {
		return nil, fmt.Errorf("%w: a cluster of %d nodes", ErrUsage, n)
	}
	w := &cluster{master: none, answers: map[string]string{}}
	var voters quorum.Set
	for i := range n {
		voters.Add(ballot.NodeID(i + 1))
	}
	for i := range n {
		nd := &replicaNode{id: ballot.NodeID(i + 1), offset: time.Duration(i+1) * time.Hour, disk: newMemDisk(),
			labels: map[uint64]string{}, reads: map[uint64]string{}}
		if err := nd.boot(voters, timing, duration); err != nil {
			return nil, err
		}
		w.nodes = append(w.nodes, nd)
	}
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			if a != b {
				a.input(&replica.Event{Up: b.id})
			}
		}
	}
	return w, nil
}

// boot is bootstrap: an empty disk, nothing to keep silent about. Nothing is random: seeds and nonces are the node's
// number.
func (nd *replicaNode) boot(voters quorum.Set, timing lease.Timing, duration time.Duration) (err error) {
	self := ballot.Incarnation{Node: nd.id, Restart: 1, Nonce: uint64(nd.id)}
	nd.nextTick = nd.offset
	part, err := elector.New(elector.Config{Self: self, Voters: voters, Timing: timing,
		Duration: duration, Seed: self.Nonce, Acceptor: lease.AcceptorConfig{Self: nd.id, Timing: timing}}, nd.offset)
	if err != nil {
		return err
	}
	nd.lease = elector.NewRound(part)
	if nd.state, err = kv.Open(nd.disk.stateDB, kv.DefaultLimits); err != nil {
		return err
	}
	cfg := replica.Config{
		Self: self, Membership: plainMembership(voters), Timing: timing,
		Core: multipaxos.Config{Self: self, PageBytes: 1 << 16, WindowEntries: 16, WindowBytes: 1 << 20,
			CacheBytes: 1 << 16, KeepEntries: 100},
		MaxBatchBytes: 1 << 12, MaxInFlight: 4, MaxQueued: 64, MaxQueuedBytes: 1 << 20, MaxForwarded: 64, MaxReads: 64,
		ApplyBytes: 1 << 16, CheckpointBytes: 1 << 20, CheckpointLogBytes: 1 << 20,
		CompareEvery: time.Hour, // a script says itself when a checkpoint is made
	}
	base := multipaxos.Membership{Number: 1, Voters: voters}
	core, err := multipaxos.New(cfg.Core, base, nd.disk.durable, nd.disk)
	if err != nil {
		return err
	}
	if nd.log, err = replica.NewLog(cfg, core, nd.state); err != nil {
		return err
	}
	nd.round = replica.NewLogRound(nd.log)
	return nil
}

// memDisk is log.db and state.db in memory.
type memDisk struct {
	durable multipaxos.Durable
	entries map[multipaxos.Slot]multipaxos.Entry
	stateDB *kv.MemStateDB
}

func newMemDisk() *memDisk {
	return &memDisk{entries: map[multipaxos.Slot]multipaxos.Entry{}, stateDB: kv.NewMemStateDB()}
}

// Entries implements multipaxos.Reader.
func (d *memDisk) Entries(from, through multipaxos.Slot, maxBytes int) (out []multipaxos.Entry, err error) {
	for size := 0; from <= min(through, d.durable.Last) && (size < maxBytes || len(out) == 0); from++ {
		if e, ok := d.entries[from]; ok {
			out = append(out, e)
			size += len(e.Value)
		}
	}
	return out, nil
}

func (d *memDisk) commit(p multipaxos.Persist) {
	m := &d.durable
	m.Promised = m.Promised.Max(p.Promised)
	for _, e := range p.Entries {
		d.entries[e.Slot] = e
		m.Last = max(m.Last, e.Slot)
	}
	for s := m.Truncated + 1; s <= p.Truncate; s++ {
		delete(d.entries, s)
	}
	m.Truncated = max(m.Truncated, p.Truncate)
	m.Chosen = max(m.Chosen, p.Chosen)
	m.Last = max(m.Last, m.Truncated)
}

// plainMembership is membership 1 of these voters.
func plainMembership(voters quorum.Set) ident.Membership {
	m := ident.Membership{Number: 1}
	for _, id := range voters.IDs() {
		m.Members = append(m.Members, ident.Member{Node: id, Store: ident.StoreID{byte(id)}})
	}
	return m
}
