package sim

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/multipaxos"
)

// Result is what a run came to.
type Result struct {
	Config   Config
	Nodes    int
	Faults   Fault // that the seed drew and Config left
	Steps    int
	Hash     uint64 // of the trace: equal for equal runs
	Virtual  time.Duration
	Counts   Counts
	Failure  *Failure // nil: nothing was found
	Duration time.Duration
}

// Counts are the proof of work of a run.
type Counts struct {
	Done, Unknown, Refused int                  // operations as their clients saw them
	Slots                  int                  // chosen
	Masters                int                  // epochs that became ready
	Starts                 int                  // of processes, the first of each node among them
	Checkpoints            int                  // into state databases
	Moves                  int                  // of records of journals to log.db
	Cut                    int                  // commits that a crash cut off while the journal was written
	Replayed               int                  // records of journals that a restart found
	LetGo                  int                  // of the master lease, because its holder got nowhere (M6)
	Hung                   int                  // times that a master let go because its log hung
	Waited                 time.Duration        // the longest that a majority that was well waited for a master
	Digests                int                  // compared with another node's
	Sequences              int                  // applied
	Ends                   int                  // of sessions, keys and lock-delays, because their time was over
	Locks                  int                  // acquired
	Leases                 int                  // grants of named leases that counted, renewals among them
	Renewals               int                  // of these
	Successions            int                  // of owners of a name
	Buckets                int                  // of named leases, made durable
	Memberships            int                  // chosen, the first of a run not among them
	ClocksFound            int                  // that erred
	Uploads, UploadsLost   int                  // installed; given up before
	Changes                int                  // of members that an operator was told the outcome of
	Spares                 int                  // that took the place of a voter by themselves
	Installs               int                  // of snapshots
	InstallsCut            int                  // by a machine that stopped
	Faults                 [len(faultNames)]int // times that a class took effect
}

// Failure is a rule that did not hold.
type Failure struct {
	Check  string // which one
	Detail string
	Step   int // at which it was noticed
	At     time.Duration
}

// Error returns the failure in one line, and more if there is a stack.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s, at step %d, %v: %s", f.Check, f.Step, f.At, f.Detail)
}

// Run plays one seed. It panics on a Config that is not valid; every fault it finds, panics of the code under test
// among them, comes in Result.Failure.
func Run(c Config) Result {
	if err := c.Validate(); err != nil {
		panic(err)
	}
	w := newWorld(c)
	failure := w.play()
	if failure == nil {
		failure = w.linearizable(w.uploads.history(w.clients.history), checkTimeout)
	}
	if failure != nil {
		w.trace.fail(failure)
	}
	w.counts.Waited = w.progress.worst
	w.counts.Slots = len(w.ledger.slots)
	return Result{Config: c, Nodes: w.plan.nodes, Faults: w.plan.faults, Steps: w.steps, Hash: w.trace.hash,
		Virtual: w.now - startTime, Counts: w.counts, Failure: failure}
}

// world is one run: its parts, and how they are put together.
type world struct {
	*engine
	site
	nodes      []*node
	disks      random // of all disks: how long they take, and what a crash leaves
	access     *access
	pipeliners *pipeliners
	leasers    *leasers
	nemesis    *nemesis
	operator   *operator
	aftermath  *aftermath
	uploads    *uploads
}

// newWorld puts the parts together: machines with disks that nobody has used, and every node a member.
func newWorld(c Config) *world {
	g := &engine{seed: c.Seed, plan: draw(c), now: startTime}
	g.trace.out = c.Trace
	w := &world{engine: g}
	leasing := g.stream(10)
	w.disks, w.changes, w.hangs = g.stream(2), g.stream(25), g.stream(200)
	w.loops, w.site.leasing = g.stream(3), &leasing
	w.net = newNetwork(g, &leasing)
	w.members = newMemberHistory(g)
	w.ledger = &ledger{engine: g, members: w.members}
	w.masters = &masters{engine: g, epochs: map[uint64]*machine{}, members: w.members}
	w.owners = &leaseOwners{engine: g, eras: map[string]uint32{}, runs: map[uint32]ballot.Incarnation{}}
	w.uploads = &uploads{engine: g}
	w.ledger.onChosen = newOracle(g, w.ledger, w.masters, w.owners, w.uploads).advance
	w.clockFacts = &clockFacts{engine: g}
	w.progress = &progress{engine: g, net: w.net, members: w.members}
	w.guardians = &guardians{engine: g, random: g.stream(7), net: w.net}
	w.access = &access{engine: g, hops: &w.net.random, masters: w.masters}
	w.clients = &clients{access: w.access}
	w.pipeliners = newPipeliners(w.access)
	w.applied, w.nodeOf = w.anyApplied, w.node
	starts, first := g.stream(4), ident.Membership{Number: 1}
	for i := range g.plan.nodes {
		n := w.addNode(ballot.NodeID(i+1), g.stream(16+uint64(i)), starts.between(time.Second, time.Hour))
		first.Members = append(first.Members, ident.Member{Node: n.id, Store: n.disk.store})
	}
	w.members.bootstrap(first)
	w.agree()
	for _, n := range w.nodes {
		n.disk.members = first
	}
	w.progress.nodes, w.access.nodes = w.nodes, w.nodes
	w.leasers = &leasers{engine: g, leasing: &leasing, nodes: w.nodes, owners: w.owners}
	w.operator = &operator{engine: g, random: g.stream(27), spares: g.stream(31), world: w}
	w.nemesis = newNemesis(g, w.nodes, w.net, w.guardians)
	w.nemesis.members, w.nemesis.operator, w.nemesis.progress = w.members, w.operator, w.progress
	w.progress.letsGo = w.nemesis.hunt
	w.aftermath = &aftermath{engine: g, nodes: w.nodes, net: w.net, clients: w.clients, pipeliners: w.pipeliners, leasers: w.leasers,
		nemesis: w.nemesis, operator: w.operator, clockFacts: w.clockFacts}
	for i, n := range w.net.nodes {
		w.net.connect(n, w.net.nodes[i+1:])
	}
	for _, n := range w.nodes {
		g.at(nil, kindStart, starts.between(0, g.plan.lease/4), func() { n.start(true) })
	}
	return w
}

// addNode makes a machine with a disk that nobody has used.
func (w *world) addNode(id ballot.NodeID, r random, reading time.Duration) *node {
	m := &machine{engine: w.engine, i: len(w.nodes), id: id, random: r}
	m.clock = clock{since: w.now, reading: reading}
	m.drift()
	d := &drive{machine: m, disk: newDisk(ident.StoreID{byte(m.i + 1), 1}), times: &w.disks, ledger: w.ledger}
	w.members.machines, w.members.drives = append(w.members.machines, m), append(w.members.drives, d)
	n := newNode(m, d, &w.site)
	w.nodes = append(w.nodes, n)
	return n
}

// grow adds a machine to a run that has begun. Its node is no member yet, and has no id.
func (w *world) grow() *node {
	r := w.stream(300 + uint64(len(w.nodes)))
	n := w.addNode(0, r, r.between(time.Second, time.Hour))
	w.progress.nodes, w.access.nodes, w.leasers.nodes = w.nodes, w.nodes, w.nodes
	w.nemesis.nodes, w.aftermath.nodes = w.nodes, w.nodes
	w.net.connect(n.end, w.net.nodes[:n.i])
	return n
}

// node returns the node of that id, nil if there is none.
func (w *world) node(id ballot.NodeID) *node {
	for _, n := range w.nodes {
		if n.id == id && id != 0 {
			return n
		}
	}
	return nil
}

// anyApplied reports whether any running node has applied a slot.
func (w *world) anyApplied(slot multipaxos.Slot) bool {
	return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.up() && n.log.log.Position().Applied >= slot })
}

// play runs until the cluster has converged, or a check fails.
func (w *world) play() (failure *Failure) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(*Failure)
			if !ok {
				f = &Failure{Check: "panic", Detail: fmt.Sprintf("%v\n%s", r, debug.Stack())}
			}
			f.Step, f.At = w.steps, w.now-startTime
			failure = f
		}
	}()
	w.nemesis.start()
	w.clients.start()
	w.access.startLockers()
	w.pipeliners.start()
	w.leasers.start()
	w.uploads.start(w.clients)
	w.operator.start()
	w.progress.start()
	for w.phase != phaseOver {
		w.step()
		if w.steps-w.aside >= w.plan.steps && w.phase == phaseFaults {
			w.aftermath.begin()
		}
	}
	w.pipeliners.mustBeThere()
	return nil
}
