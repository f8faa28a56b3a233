package sim

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/jepsen/history"
	"tenure/server/wire"
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
	Waited                 time.Duration        // the longest that a majority that was well waited for a master
	Digests                int                  // compared with another node's
	Ends                   int                  // of sessions, keys and lock-delays, because their time was over
	Locks                  int                  // acquired
	Leases                 int                  // grants of named leases that counted, renewals among them
	Renewals               int                  // of these
	Successions            int                  // of owners of a name
	Buckets                int                  // of named leases, made durable
	Faults                 [len(faultNames)]int // times that a class took effect
}

// Failure is a rule that did not hold.
type Failure struct {
	Check  string // which one
	Detail string
	Step   int // at which it was noticed
	At     time.Duration
}

// Error is the failure in one line, and more if there is a stack.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s, at step %d, %v: %s", f.Check, f.Step, f.At, f.Detail)
}

// world is one run.
type world struct {
	cfg    Config
	plan   plan
	now    time.Duration // true time
	serial uint64
	agenda agenda
	stream bytes.Reader // what frames reads
	frames *wire.FrameReader
	sent   int // messages
	steps  int
	aside  int // of these, steps of named leases: they take nothing from the others
	trace  trace

	nodes   []*node
	links   []*link
	cut     [5][5]bool // nothing passes from one to another
	cuts    int        // partitions so far
	members ident.Membership

	network, disks, loops random
	guardians, leasing    random
	words, stucks         random // of health; of the phase of stuck nodes
	damages               random // to frames
	nemesis               [len(faultNames)]random

	clients  []*client
	leasers  []*leaser
	owners   leaseOwners
	history  []history.Op
	keys     keyring
	nextID   uint64
	visitors int // one-off clients so far

	ledger    ledger
	oracle    *oracle
	acked     uint64           // highest revision of an acknowledged write
	epochs    map[uint64]epoch // never ranged over
	topEpoch  uint64
	confirmed [5][5]confirmation // by leader and voter
	lost      int                // nodes whose disk is gone for good

	phase  phase
	healed time.Duration
	well   well
	counts Counts
}

// startTime is the true time at which a run begins: readings of clocks are never near zero.
const startTime = 10 * time.Second

// Run plays one seed. It panics on a Config that is not valid; every fault it finds, panics of the code under test
// among them, comes in Result.Failure.
func Run(c Config) Result {
	if err := c.Validate(); err != nil {
		panic(err)
	}
	w := &world{cfg: c, plan: draw(c), now: startTime, epochs: map[uint64]epoch{}, frames: wire.NewFrameReader(nil, 0)}
	w.trace.out = c.Trace
	w.network, w.disks, w.loops = stream(c.Seed, 1), stream(c.Seed, 2), stream(c.Seed, 3)
	w.guardians, w.leasing = stream(c.Seed, 7), stream(c.Seed, 10)
	w.words, w.stucks, w.damages = stream(c.Seed, 11), stream(c.Seed, 13), stream(c.Seed, 15)
	w.owners = leaseOwners{w: w, eras: map[string]uint32{}, runs: map[uint32]ballot.Incarnation{}}
	for i := range w.nemesis {
		w.nemesis[i] = stream(c.Seed, 32+uint64(i))
	}
	failure := w.play()
	if failure == nil {
		failure = w.judge()
	}
	if failure != nil {
		w.trace.fail(failure)
	}
	w.counts.Waited = w.well.worst
	w.counts.Slots = len(w.ledger.slots)
	return Result{Config: c, Nodes: w.plan.nodes, Faults: w.plan.faults, Steps: w.steps, Hash: w.trace.hash,
		Virtual: w.now - startTime, Counts: w.counts, Failure: failure}
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
	w.oracle = newOracle(w)
	w.found()
	w.startNemesis()
	w.startClients()
	w.startLockers()
	w.startLeasers()
	w.startProgress()
	for w.phase != phaseOver {
		w.step()
		if w.steps-w.aside >= w.plan.steps && w.phase == phaseFaults {
			w.afterFaults()
		}
	}
	return nil
}

// found is bootstrap: every node is a member, with a disk that nobody has used.
func (w *world) found() {
	r := stream(w.cfg.Seed, 4)
	w.members.Number = 1
	for i := range w.plan.nodes {
		n := &node{w: w, i: i, id: ballot.NodeID(i + 1), random: stream(w.cfg.Seed, 16+uint64(i))}
		n.disk = newDisk(ident.StoreID{byte(i + 1), 1})
		n.clock = clock{since: w.now, reading: r.between(time.Second, time.Hour)}
		n.drift(w.now)
		w.members.Members = append(w.members.Members, ident.Member{Node: n.id, Store: n.disk.store})
		w.nodes = append(w.nodes, n)
	}
	w.wire()
	for _, n := range w.nodes {
		w.at(nil, kindStart, r.between(0, w.plan.lease/4), func() { n.start(true) })
	}
}

// at has do happen after d. With a node, it happens in the node's present run only, and waits while that is paused.
func (w *world) at(n *node, k kind, d time.Duration, do func()) *event {
	e := &event{at: w.now + d, node: n, kind: k, do: do}
	if n != nil {
		e.run = n.run
	}
	w.push(e)
	return e
}

func (w *world) push(e *event) {
	w.serial++
	e.serial = w.serial
	w.agenda.push(e)
}

// step takes the next event. Events of a dead run are void, those of a paused one wait.
func (w *world) step() {
	e := w.agenda.pop()
	w.now = e.at
	if n := e.node; n != nil {
		if e.run != n.run || n.process == nil {
			return
		}
		if n.paused {
			n.held = append(n.held, e)
			return
		}
	}
	w.steps++
	if e.kind >= kindNamed {
		w.aside++
	}
	w.trace.begin(w, e)
	e.do()
	w.trace.end()
}

// fail ends the run: a check did not hold.
func (w *world) fail(check, format string, args ...any) {
	panic(&Failure{Check: check, Detail: fmt.Sprintf(format, args...)})
}

// trace is the hash over the run, and its lines if somebody wants to read them.
type trace struct {
	hash uint64
	out  io.Writer
	line []byte
}

// mix adds numbers to the hash.
func (t *trace) mix(vs ...uint64) {
	h := t.hash
	for _, v := range vs {
		h = (h ^ v) * 0x9fb21c651e98df25
		h ^= h >> 29
	}
	t.hash = h
}

func (t *trace) begin(w *world, e *event) {
	id := uint64(0)
	if e.node != nil {
		id = uint64(e.node.id)
	}
	t.mix(uint64(e.at), uint64(e.kind)<<8|id)
	if t.out != nil {
		who := "  "
		if id != 0 {
			who = fmt.Sprintf("n%d", id)
		}
		t.line = fmt.Appendf(t.line[:0], "%6d %12.6f %s %-6s", w.steps, (e.at - startTime).Seconds(), who, kindNames[e.kind])
	}
}

// on tells whether lines are written; ask before making the arguments of note.
func (t *trace) on() bool { return t.out != nil }

// note adds what happened to the step's line.
func (t *trace) note(format string, args ...any) {
	t.line = append(t.line, ' ', ' ')
	t.line = fmt.Appendf(t.line, format, args...)
}

func (t *trace) end() {
	if t.out != nil {
		t.line = append(t.line, '\n')
		_, _ = t.out.Write(t.line) // a trace that cannot be written changes nothing
		t.line = t.line[:0]
	}
}

func (t *trace) fail(f *Failure) {
	if t.out != nil {
		t.end()
		fmt.Fprintf(t.out, "FAILED %v\n", f)
	}
}
