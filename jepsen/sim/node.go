package sim

import (
	"errors"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// node is a machine: what outlives a process, and the process that runs on it.
type node struct {
	w        *world
	i        int
	id       ballot.NodeID
	random   random // boot nonces, and how the machine comes back
	clock    clock
	disk     *disk
	run      uint64 // rises with each start and each end of a process
	paused   bool
	held     []*event // what happens to it while it is paused
	out      bool     // it may not or must not take part any more
	slow     time.Duration
	stall    time.Duration // of the next commit
	eio      bool          // the next commit fails
	space    replica.Space
	frozen   bool   // the disk returns from nothing
	owed     []owed // what it would have returned from
	unlarge  int    // bytes of values above which messages of the log from and to it are lost; 0: none
	truth    truth
	probed   bool          // after the faults a write through it succeeded
	leased   bool          // and so did an acquisition
	wiped    bool          // its disk was replaced by an empty one
	promised ballot.Ballot // the highest that was ever durable here, on an earlier disk too
	*process
}

// process is one run of the server on a node: all of it is lost in a crash. Nil: none runs.
type process struct {
	self       ballot.Incarnation
	begun      time.Duration // on the node's clock
	quarantine lease.Quarantine
	record     time.Duration

	// The lease loop's.
	elector     *replica.Elector
	leaseRound  *replica.ElectorRound
	leaseEffect replica.Effect // to be carried out next
	leaseIn     []leaseEvent
	leaseNow    leaseEvent    // what the round is about
	leaseBusy   bool          // somebody runs the loop, or the processor was lost in it
	timer       time.Duration // true time of the timer that is set; 0: none
	timers      uint64
	noted       []uint64 // what its guardian would release

	named namedPart

	// The log loop's.
	core        *multipaxos.Core
	log         *replica.Log
	state       *kv.State
	inbox       []input
	ticked      bool
	poked       bool // the lease loop changed what is published
	waking      bool // a round is on the agenda
	round       *replica.LogRound
	effect      replica.Effect      // to be carried out next
	confirmedIn *multipaxos.Message // the first message of the newest output that noteConfirmed has seen
	now         time.Duration       // the round's newest clock reading
	seen        replica.Published
	waiting     map[uint64]*attempt // never ranged over
	handlers    []*attempt          // all of them and those read from, to be told when the process dies
	asked       map[askKey]question

	pub replica.Published
	// For the checks, readings of the clock: when entries were last applied, and when a tenure of the lease last ended.
	appliedAt, endedAt time.Duration
	// Of M6: what the log loop shows the lease loop, and the newest words of the others, by node.
	standing replica.Standing
	healths  [5]*replica.Health
	shown    uint64          // newest epoch in which this process was seen ready
	checked  multipaxos.Slot // chosen slots up to this one are in the ledger

	// The disk's.
	persists      []multipaxos.Persist
	committing    []multipaxos.Persist
	space         replica.Space // as this round was told
	led           bool          // this round was, for a part at least, a leader's
	moving        uint64        // log.db takes the journal's records up to this number; 0: it takes none
	checkpointing *kv.Frozen

	linked [5]uint64 // generation of the connection to each other node as this process knows it; 0: none
	hand   *handOver
	exits  bool // it is stopping for good
}

// askKey names a follower's question for a read point.
type askKey struct {
	from ballot.NodeID
	id   uint64
}

// question is when a follower's question was taken.
type question struct {
	at      time.Duration // true time
	reading time.Duration
}

// up tells whether a process runs.
func (n *node) up() bool { return n.process != nil }

// reading is the node's clock now.
func (n *node) reading() time.Duration { return n.clock.at(n.w.now) }

// start runs the server on the node's disk: the start record first, then the parts, as the shell does.
func (n *node) start(bootstrap bool) {
	w := n.w
	if n.up() || n.out {
		return
	}
	if !w.members.Lists(n.id, n.disk.store) {
		n.leave("its store is not a member's")
		return
	}
	if n.disk.refused != nil {
		n.leave(n.disk.refused.Error())
		return
	}
	if n.frozen { // it waits in the write of its start record
		n.owed = append(n.owed, owed{run: n.run, kind: kindStart, do: func() { n.start(bootstrap) }})
		return
	}
	if n.disk.rotten() && n.random.chance(500) {
		n.leave("its disk is damaged") // found when it is opened; else when the record is read
		return
	}
	n.run++
	w.counts.Starts++
	p := &process{begun: n.reading(), waiting: map[uint64]*attempt{}, asked: map[askKey]question{}}
	plan, err := lease.PlanQuarantine(n.disk.quarantine, w.plan.timing, bootstrap)
	if err != nil {
		w.fail("start", "node %d: %v", n.id, err)
	}
	bucket, err := named.PlanBucket(n.disk.bucket, w.plan.timing, bootstrap)
	if err != nil {
		w.fail("start", "node %d: %v", n.id, err)
	}
	n.disk.restart++
	n.disk.home.at.Generation++
	n.disk.quarantine, n.disk.bucket = plan.AtStart, bucket.AtStart
	p.quarantine, p.record, p.named.silence = plan, plan.AtStart, bucket.Silence
	p.self = ballot.Incarnation{Node: n.id, Restart: n.disk.restart, Nonce: n.random.next()}
	n.process = p
	if err := n.open(); err != nil {
		n.process = nil
		n.damage(err)
		return
	}
	if w.trace.on() {
		w.trace.note("starts as %v, disk %v promised, chosen %d, last %d, checkpointed %d", p.self, n.disk.marks.Promised,
			n.disk.marks.Chosen, n.disk.marks.Last, n.disk.checkpointed())
	}
	n.watch()
	n.check()
	n.compareDigest()
	n.leaseInput(leaseEvent{})
	if p.named.part != nil {
		n.namedInput(namedEvent{})
	}
	w.at(n, kindTick, w.loops.between(0, replica.TickEvery), n.tick)
	n.watchRecord()
}

// open builds the parts.
func (n *node) open() (err error) {
	p, t := n.process, n.w.plan.timing
	p.elector, err = replica.NewElector(replica.ElectorConfig{
		Self: p.self, Voters: n.w.plan.part.Core.Voters, Timing: t, Duration: n.w.plan.lease, Seed: n.random.next(),
		Acceptor: lease.AcceptorConfig{Self: n.id, Timing: t, Quarantine: p.quarantine.Deadline(p.begun)},
	}, p.begun)
	if err != nil {
		return err
	}
	p.leaseRound = replica.NewElectorRound(p.elector)
	p.leaseEffect = p.leaseRound.Next()
	n.disk.resume()
	if p.state, err = kv.Open(n.disk, n.w.plan.limits); err != nil {
		return err
	}
	cfg := n.w.plan.part
	cfg.Self, cfg.Core.Self = p.self, p.self
	if p.core, err = multipaxos.New(cfg.Core, n.disk.marks, n.disk); err != nil {
		return err
	}
	if p.log, err = replica.NewLog(cfg, p.core, p.state); err != nil {
		return err
	}
	p.round = replica.NewLogRound(p.log)
	if p.effect, err = p.round.Next(); err != nil {
		return err
	}
	return n.openNamed()
}

// crash ends the process. What was not committed is lost; a commit under way is whole on the disk, or not there, or
// sectors of it are.
func (n *node) crash() {
	if !n.up() {
		return
	}
	w, p := n.w, n.process
	n.lose(p.committing, p.moving)
	n.loseBucket()
	if p.checkpointing != nil && w.disks.chance(300) {
		n.disk.merge(p.checkpointing.Checkpoint())
	}
	n.process = nil
	n.run++
	n.paused, n.held = false, nil
	n.orphan(p)
	handlers := p.handlers
	p.handlers = nil
	for _, a := range handlers {
		a.cutOff()
	}
	p.named.cutOff()
	w.unlink(n)
	if w.trace.on() {
		w.trace.note("node %d dies", n.id)
	}
}

// restart starts the node again after d. A machine that comes back has another reading on its clock.
func (n *node) restart(d time.Duration, reboot bool) {
	w := n.w
	w.at(nil, kindStart, d, func() {
		if reboot && !n.up() {
			n.clock = clock{since: w.now, reading: n.random.between(time.Second, time.Minute), ppm: n.clock.ppm}
		}
		n.start(false)
	})
}

// leave makes the node stay out for good.
func (n *node) leave(why string) {
	n.out = true
	if n.w.trace.on() {
		n.w.trace.note("node %d stays out: %s", n.id, why)
	}
}

// damage takes an error of the parts: the node must stop.
func (n *node) damage(err error) {
	n.mustBeRot(err)
	n.stop(err)
}

// mustBeRot: the parts may complain only of what is bad.
func (n *node) mustBeRot(err error) {
	if !n.disk.noticed || !errors.Is(err, errRot) {
		n.w.fail("error", "node %d: %v", n.id, err)
	}
}

// stop ends a node whose disk is damaged, for good.
func (n *node) stop(err error) {
	n.crash()
	n.leave(err.Error())
}

// stepped looks after a step of the log part: an error is damage, and damage must be an error. False: the node died.
func (n *node) stepped(err error) bool {
	if err != nil {
		n.damage(err)
		return false
	}
	if n.disk.noticed {
		n.w.fail("damage served", "node %d read a bad record and went on", n.id)
	}
	return true
}

// pause stops the process for d; what happens to it waits.
func (n *node) pause(d time.Duration) {
	if !n.up() || n.paused {
		return
	}
	n.paused = true
	run := n.run
	n.w.at(nil, kindFault, d, func() {
		if n.run == run {
			n.resume()
		}
	})
}

// resume lets the process go on. The loops, the readers and the connections race for what waits; only each connection
// keeps its order.
func (n *node) resume() {
	if !n.paused {
		return
	}
	n.paused = false
	held := n.held
	n.held = nil
	w, lane := n.w, n.w.loops.between(0, 200*time.Microsecond)
	early := w.loops.chance(300) // the handlers are first
	for _, e := range held {
		switch {
		case e.lane:
			e.at = w.now + lane + time.Microsecond
			lane += time.Microsecond
		case early && e.kind == kindAsk:
			e.at = w.now
		default:
			e.at = w.now + w.loops.between(time.Microsecond, 400*time.Microsecond)
		}
		w.push(e)
	}
	if early && w.phase == phaseFaults {
		w.pounce(n)
	}
	if w.trace.on() {
		w.trace.note("node %d goes on, %d events waited", n.id, len(held))
	}
}

// drift draws a new rate, at the bounds as often as between them.
func (n *node) drift(now time.Duration) {
	most := n.w.plan.timing.DriftPPM
	if !n.w.plan.on(Drift) || most == 0 {
		return
	}
	n.clock.run(now, pick(&n.random, -most, most, int64(n.random.below(int(2*most)))-most))
}

// watchRecord is A4's second write, once the silence has passed.
func (n *node) watchRecord() {
	p := n.process
	if r := p.quarantine.Record(n.reading() - p.begun); r != p.record && !n.frozen {
		p.record, n.disk.quarantine = r, r
	}
	if p.record != p.quarantine.Own {
		n.w.at(n, kindWatch, n.w.plan.lease, n.watchRecord)
	}
}
