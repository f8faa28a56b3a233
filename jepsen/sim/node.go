package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// node is a machine with a disk and a network connection, and the process that runs on it.
type node struct {
	*machine
	site   *site
	disk   *drive
	end    *endpoint
	board  *board
	left   bool // its process has ended because it is no member any more
	probed bool // after the faults a write through it succeeded
	leased bool // and so did an acquisition
	*process
}

// site is what the nodes of a run share.
type site struct {
	loops      random // when loops are scheduled
	leasing    *random
	changes    random // of everything about members that change
	hangs      random // whether a loop waits for a frozen disk
	net        *network
	ledger     *ledger
	masters    *masters
	members    *memberHistory
	owners     *leaseOwners
	progress   *progress
	guardians  *guardians
	clockFacts *clockFacts
	clients    *clients
	applied    func(multipaxos.Slot) bool // whether any running node has applied a slot
	nodeOf     func(ballot.NodeID) *node  // nil: there is none
	sent       []*snapshot                // that were ever opened, by id from 1 on
}

func newNode(m *machine, d *drive, s *site) *node {
	n := &node{machine: m, site: s, disk: d}
	n.board = &board{machine: m, masters: s.masters}
	n.end = &endpoint{
		machine: m, drive: d,
		takeLog:    n.takeLog,
		takeLease:  func(e leaseEvent) { n.elector.put(e) },
		takeHealth: func(from *machine, h *replica.Health) { n.elector.reports.Hear(n.reading(), from.id, *h) },
		takeNamed:  func(e namedEvent) { n.leases.put(e) },
	}
	if m.plan.members.on {
		n.end.removed = n.isRemoved
	}
	s.net.nodes = append(s.net.nodes, n.end)
	s.masters.boards = append(s.masters.boards, n.board)
	return n
}

// takeLog takes what comes on a connection of the log. Messages about snapshots are not the log part's.
func (n *node) takeLog(e input) {
	switch {
	case e.peer != nil && e.peer.Snapshot != nil:
		n.snapshots.take(e.peer)
		return
	case e.down != 0:
		n.snapshots.lost(e.down)
	}
	n.log.put(e)
}

// start runs the server on the node's disk: the start record first, then the parts, as the runner does.
func (n *node) start(bootstrap bool) {
	if n.up() || n.out || n.id == 0 || !n.mayStart(bootstrap) {
		return
	}
	if !n.disk.install(&n.site.changes) {
		n.restart(n.site.changes.skewed(time.Millisecond, n.plan.lease), false)
		return
	}
	n.site.net.stopCopy(n)
	n.begin()
	n.counts.Starts++
	p := &process{begun: n.reading(), over: goingOver{node: n}}
	plan, err := lease.PlanQuarantine(n.disk.quarantine, n.plan.timing, bootstrap)
	if err != nil {
		n.fail("start", "node %d: %v", n.id, err)
	}
	bucket, err := named.PlanBucket(n.disk.bucket, n.plan.timing, bootstrap)
	if err != nil {
		n.fail("start", "node %d: %v", n.id, err)
	}
	n.disk.startRecord(plan.AtStart, bucket.AtStart)
	p.quarantine, p.record = plan, plan.AtStart
	p.self = ballot.Incarnation{Node: n.id, Restart: n.disk.restart, Nonce: n.random.next()}
	n.process = p
	if err := n.open(bucket.Silence); err != nil {
		n.process, n.running = nil, false
		n.damaged(err)
		return
	}
	if n.trace.on() {
		n.trace.note("starts as %v, disk %v promised, chosen %d, last %d, checkpointed %d", p.self,
			n.disk.marks.Promised,
			n.disk.marks.Chosen, n.disk.marks.Last, n.disk.checkpointed())
	}
	n.log.check.watch()
	n.log.check.check()
	n.log.check.compareDigest()
	n.elector.put(leaseEvent{})
	if n.leases != nil {
		n.leases.put(namedEvent{})
	}
	if n.plan.members.on {
		p.over.start()
	}
	n.snapshots = newTransfers(n)
	n.watchClock()
	n.later(kindTick, n.site.loops.between(0, replica.TickEvery), n.log.tick)
	n.watchRecord()
}

// mayStart reports whether the process gets past opening its disk.
func (n *node) mayStart(bootstrap bool) bool {
	known := n.disk.members
	if known.Number == 0 { // an empty disk: the others tell who the members are
		known = n.site.members.newest().Membership
	}
	switch {
	case !known.Lists(n.id, n.disk.store):
		n.leave("its store is not a member's")
	case n.disk.refused != nil:
		n.leave(n.disk.refused.Error())
	case n.disk.owes(kindStart, func() { n.start(bootstrap) }): // it waits in the write of its start record
	case n.disk.rotten() && n.random.chance(500):
		n.leave("its disk is damaged") // found when it is opened; else when the record is read
	default:
		n.disk.setMembers(known)
		return true
	}
	return false
}

// crash ends the process.
func (n *node) crash() {
	if !n.up() {
		return
	}
	p := n.process
	n.disk.crash()
	p.over.crash()
	if p.leases != nil {
		p.leases.loseBucket()
	}
	n.process = nil
	n.halt()
	n.site.guardians.died(n.end, p.self, p.elector.noted)
	handlers := p.handlers
	p.handlers = nil
	for _, a := range handlers {
		a.cutOff()
	}
	if p.leases != nil {
		p.leases.cutOff()
	}
	n.site.net.unlink(n.end)
	n.site.net.endCopy(n)
	if n.trace.on() {
		n.trace.note("node %d dies", n.id)
	}
}

// restart starts the node again after d. A machine that comes back has another reading on its clock.
func (n *node) restart(d time.Duration, reboot bool) {
	n.at(nil, kindStart, d, func() {
		if reboot && !n.up() {
			n.clock = clock{since: n.now, reading: n.random.between(time.Second, time.Minute), ppm: n.clock.ppm}
		}
		n.start(false)
	})
}

// lost reports whether the disk is of no use any more.
func (n *node) lost() bool { return n.out || n.disk.wiped || n.disk.rotten() }

// takesPart reports whether the node is to serve when the faults are over.
func (n *node) takesPart() bool {
	if !n.plan.members.on {
		return !n.out
	}
	return !n.out && n.site.members.newest().Lists(n.id, n.disk.store)
}

// leave makes the node stay out for good.
func (n *node) leave(why string) {
	n.out = true
	if n.trace.on() {
		n.trace.note("node %d stays out: %s", n.id, why)
	}
}

// damaged takes an error of the parts: the node must stop, for good.
func (n *node) damaged(err error) {
	n.disk.mustBeRot(err)
	n.stop(err)
}

func (n *node) stop(err error) {
	n.crash()
	n.leave(err.Error())
}

// ioFailed ends the process after a commit that failed: whether the disk has it all or nothing, nobody knows.
func (n *node) ioFailed() {
	n.crash()
	n.restart(n.random.skewed(time.Millisecond, time.Second), true)
}

// pause stops the process for d; what happens to it waits.
func (n *node) pause(d time.Duration) {
	if !n.up() || n.paused {
		return
	}
	n.paused = true
	run := n.run
	n.at(nil, kindFault, d, func() {
		if n.run == run {
			n.resume()
		}
	})
}

// resume lets a paused process go on.
func (n *node) resume() {
	if n.paused && n.goOn(&n.site.loops) && n.phase == phaseFaults {
		n.site.clients.pounce(n)
	}
}

// freeze makes the node stuck, in one of two ways: its disk answers nothing, or large messages from and to it are lost.
func (n *node) freeze(f Fault) {
	n.effect(f)
	if f == StuckDisk {
		n.disk.frozen, n.disk.hangs = true, n.site.hangs.chance(500)
	} else {
		n.end.large = smallest
	}
	if n.trace.on() {
		n.trace.note("node %d is stuck: %v", n.id, f)
	}
}

// thaw ends being stuck.
func (n *node) thaw(r *random) {
	n.end.large = 0
	n.disk.thaw(r)
}

// isStuck reports whether the node is stuck.
func (n *node) isStuck() bool { return n.disk.frozen || n.end.large > 0 }

// smallest is the least size of messages that are lost: a barrier entry always arrives, a batch of writes seldom.
const smallest = 40

// watchRecord is A4's second write, once the silence has passed.
func (n *node) watchRecord() {
	p := n.process
	if r := p.quarantine.Record(n.reading() - p.begun); r != p.record && !n.disk.frozen {
		p.record, n.disk.quarantine = r, r
	}
	if p.record != p.quarantine.Own {
		n.later(kindWatch, n.plan.lease, n.watchRecord)
	}
}
