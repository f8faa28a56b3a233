package sim

import (
	"time"

	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// nemesis does the faults of a run: those that are no rates of the network.
type nemesis struct {
	*engine
	nodes     []*node
	net       *network
	guardians *guardians
	members   *memberHistory
	operator  *operator
	progress  *progress
	streams   [len(faultNames)]random
	stucks    random // of the phase of stuck nodes
	lost      int    // nodes whose disk is gone for good
	differs   bool   // a node's state was made to differ
}

func newNemesis(g *engine, nodes []*node, net *network, guardians *guardians) *nemesis {
	x := &nemesis{engine: g, nodes: nodes, net: net, guardians: guardians, stucks: g.stream(13)}
	for i := range x.streams {
		x.streams[i] = g.stream(32 + uint64(i))
	}
	return x
}

// misdeed is what a class does now and then.
type misdeed func(x *nemesis, r *random)

// misdeeds are the classes that act by themselves; the others are rates.
var misdeeds = map[Fault]misdeed{
	Break: breakLink, OneWay: cutOneWay, Partition: cutGroups,
	Crash: crashOne, CrashAll: crashAll, Pause: pauseOne, HandOver: handOverOne, Guardian: askGuardian,
	Drift: driftOne, Freeze: freezeOne,
	SlowDisk: slowOne, StallDisk: stallOne, EIO: failOne, Rot: rotOne, Wipe: wipeOne, Low: lowerOne,
	StuckDisk: stuckOne, LargeLost: largeOne, Copied: copyOne,
	Differ: differOne,
}

// start schedules the classes of the plan.
func (x *nemesis) start() {
	for i := range faultNames {
		f := Fault(1) << i
		if do := misdeeds[f]; do != nil && x.plan.on(f) {
			x.schedule(i, do)
		}
	}
}

func (x *nemesis) schedule(i int, do misdeed) {
	r := &x.streams[i]
	every := x.plan.every[i]
	x.at(nil, kindFault, r.between(every/2, every*3/2), func() {
		if x.phase != phaseFaults {
			return
		}
		if x.trace.on() {
			x.trace.note("%s", faultNames[i])
		}
		do(x, r)
		x.schedule(i, do)
	})
}

// victim draws a node, the master as often as all others together.
func (x *nemesis) victim(r *random) *node {
	if r.chance(500) {
		for _, n := range x.nodes {
			if n.up() && n.board.held() {
				return n
			}
		}
	}
	return x.nodes[r.below(len(x.nodes))]
}

// moment draws the length of a fault: from a tenth of a lease to a few of them.
func (x *nemesis) moment(r *random) time.Duration { return r.skewed(x.plan.lease/10, 4*x.plan.lease) }

func breakLink(x *nemesis, r *random) {
	if len(x.net.links) > 0 {
		l := x.net.links[r.below(len(x.net.links))]
		if l.stands {
			x.effect(Break)
		}
		l.sever()
	}
}

// during sets a cut and ends it after a while, unless another one has come.
func (x *nemesis) during(cut [maxMachines][maxMachines]bool, d time.Duration) {
	x.net.setCut(cut)
	epoch := x.net.cuts
	x.at(nil, kindFault, d, func() {
		if x.net.cuts == epoch {
			x.net.setCut([maxMachines][maxMachines]bool{})
		}
	})
}

// cutOneWay stops one direction: between two nodes, from one node to all, or from all to one.
func cutOneWay(x *nemesis, r *random) {
	if len(x.nodes) == 1 {
		return
	}
	a, b := x.victim(r).i, r.below(len(x.nodes))
	shape := r.below(3)
	var cut [maxMachines][maxMachines]bool
	for i := range x.nodes {
		switch {
		case i == a:
		case shape == 0:
			cut[a][i] = true
		case shape == 1:
			cut[i][a] = true
		case i == b || a == b:
			cut[a][i] = true
		}
	}
	x.effect(OneWay)
	x.during(cut, x.moment(r))
}

// cutGroups splits the nodes in two groups, or, now and then, leaves each only its neighbours in a ring.
func cutGroups(x *nemesis, r *random) {
	if len(x.nodes) == 1 {
		return
	}
	var cut [maxMachines][maxMachines]bool
	side := uint64(1) << x.victim(r).i
	switch r.below(3) {
	case 0:
		side = r.next()
	case 1:
		side |= 1 << r.below(len(x.nodes))
	}
	ring := len(x.nodes) == 5 && r.chance(150)
	for i := range x.nodes {
		for j := range x.nodes {
			cut[i][j] = side>>i&1 != side>>j&1
			if ring {
				cut[i][j] = (i-j+5)%5 == 2 || (i-j+5)%5 == 3
			}
		}
	}
	x.effect(Partition)
	x.during(cut, x.moment(r))
}

func crashOne(x *nemesis, r *random) {
	n := x.victim(r)
	if !n.up() {
		return
	}
	x.effect(Crash)
	n.crash()
	n.restart(r.skewed(time.Millisecond, 4*x.plan.lease), r.chance(300))
}

func crashAll(x *nemesis, r *random) {
	x.effect(CrashAll)
	for _, n := range x.nodes {
		n.crash()
		n.restart(r.skewed(time.Millisecond, x.plan.lease), r.chance(300))
	}
}

func pauseOne(x *nemesis, r *random) {
	n := x.victim(r)
	if n.up() && !n.paused {
		x.effect(Pause)
		n.pause(r.skewed(x.plan.lease/10, 6*x.plan.lease))
	}
}

func driftOne(x *nemesis, r *random) {
	n := x.nodes[r.below(len(x.nodes))]
	x.effect(Drift)
	n.drift()
}

// freezeOne is outside the promise: a clock stands still for a while, runs far too slowly, or jumps.
func freezeOne(x *nemesis, r *random) {
	n := x.victim(r)
	x.effect(Freeze)
	if r.chance(200) {
		n.clock.jump(x.now, x.moment(r))
		return
	}
	n.clock.run(x.now, pick(r, int64(-million), -million, -400_000, 900_000))
	x.at(nil, kindFault, 3*x.moment(r), func() { n.clock.run(x.now, 0) })
}

func slowOne(x *nemesis, r *random) {
	n := x.victim(r)
	x.effect(SlowDisk)
	n.disk.slow = r.skewed(time.Millisecond, x.plan.lease/2)
	x.at(nil, kindFault, 2*x.moment(r), func() { n.disk.slow = 0 })
}

func stallOne(x *nemesis, r *random) { x.victim(r).disk.stall = x.moment(r) }

func failOne(x *nemesis, r *random) { x.victim(r).disk.eio = true }

// mayLose reports whether one more disk may be lost for good: the promise is for a minority. Ends: so that the process
// ends at once.
func (x *nemesis) mayLose(n *node, ends bool) bool {
	if x.plan.members.on {
		return x.maySpare(n, ends)
	}
	if n.lost() || x.lost+1 > (x.plan.nodes-1)/2 {
		return false
	}
	x.lost++
	return true
}

// maySpare is mayLose where members change: those who are no voters any more do not count.
func (x *nemesis) maySpare(n *node, ends bool) bool {
	if n.lost() || n.id == 0 || n.left {
		return false
	}
	lost, hidden := x.lostDisks()
	shrinks := x.mayShrink(n, ends, hidden)
	lost |= 1 << n.i
	if !ends {
		hidden |= 1 << n.i
	}
	return x.affords(lost, hidden, shrinks, false)
}

// affords reports whether the cluster can do without the lost disks for good: their nodes must stay a minority of the
// voters, also in the worst case of what is under way. Nobody may know of the disks that are hidden. The worst case:
//   - A lost non-voter gets a vote: a spare at any time while its disk is hidden, others while an operation runs.
//   - The operator has voters removed or replaced. An unheard voter goes before its replacement comes.
//   - Shrinks: a spare takes the place of an unheard voter, which goes first. A lost spare that has come so adds no
//     voter, and then another spare may take a place. Adds: one more spare is about to be there.
//
// Operations that begin later do no harm: the operator replaces lost members before anything else. Every kind of lost
// disk still meets every operation, in clusters with one voter more where the worst case takes one away.
func (x *nemesis) affords(lost, hidden machineSet, shrinks, adds bool) bool {
	h, asks := x.members, x.operator.asks
	voters, before := h.voting()
	spares := h.spares()
	comes := hidden & spares
	if _, ok := h.bySpare(); ok || len(asks) > 0 {
		comes = lost & h.set(h.newest().NonVoters)
	}
	goes := 0
	for _, c := range asks {
		adds = adds || c.op.Spare && !c.took
		m, takes := h.machine(c.op.Node), c.op.Kind == members.Remove || c.op.Kind == members.Replace
		if takes && m != nil && (voters &^ lost).has(m.i) {
			goes++
		}
	}
	then := goes + (comes & spares).count()
	if shrinks {
		goes++
		if adds || spares&^lost != 0 {
			then++
		}
	}
	return lost.minorityOf(voters, goes) && lost.minorityOf(voters|comes, then) && lost.minorityOf(before, 0)
}

// lostDisks returns the machines with useless disks, and the members among them whose processes may run on unnoticed.
func (x *nemesis) lostDisks() (lost, hidden machineSet) {
	listed := x.members.set(x.members.newest().All())
	for _, o := range x.nodes {
		if !o.lost() && !(x.differs && o.disk.differs()) {
			continue
		}
		lost |= 1 << o.i
		if !o.out && !o.disk.wiped && listed.has(o.i) {
			hidden |= 1 << o.i
		}
	}
	return lost, hidden
}

// rotOne makes a record of the log go bad, or the state database, or a bit of the journal.
func rotOne(x *nemesis, r *random) {
	n := x.victim(r)
	d := n.disk
	first, last := d.marks.Truncated+1, d.marks.Last
	if last < first || !x.mayLose(n, false) {
		return
	}
	x.effect(Rot)
	if r.chance(250) {
		d.file.flip(r.below(ringBytes), 1<<r.below(8))
		return
	}
	if r.chance(300) && d.checkpointed() > 0 {
		d.rotStateDB = true
		return
	}
	d.rotSlot = first + multipaxos.Slot(r.below(int(last-first)+1))
}

// wipeOne gives a node an empty disk, with a store that is nobody's.
func wipeOne(x *nemesis, r *random) {
	n := x.victim(r)
	if !x.mayLose(n, true) {
		return
	}
	x.effect(Wipe)
	n.crash()
	n.thaw(&x.stucks)
	n.disk.wipe()
	n.restart(r.skewed(time.Millisecond, x.plan.lease), false)
}

func lowerOne(x *nemesis, r *random) {
	n := x.victim(r)
	x.effect(Low)
	n.disk.space = pick(r, replica.SpaceLow, replica.SpaceTight, replica.SpaceTight, replica.SpaceNone)
	x.at(nil, kindFault, x.moment(r), func() {
		if x.phase == phaseFaults { // else it may be the one that stays full
			n.disk.space = replica.SpaceEnough
		}
	})
}

// handOverOne: the master hands over, to a node or to anybody; or some node is stopped in order.
func handOverOne(x *nemesis, r *random) {
	n := x.victim(r)
	if !n.up() || n.paused {
		return
	}
	x.effect(HandOver)
	if r.chance(300) {
		n.handOver(0, elector.CauseStopping)
		return
	}
	next := x.nodes[r.below(len(x.nodes))]
	if next == n {
		n.handOver(0, elector.CauseHandedOver)
		return
	}
	n.handOver(next.id, elector.CauseHandedOver)
}

// askGuardian tempts the guardian of a process that lives.
func askGuardian(x *nemesis, r *random) {
	if n := x.victim(r); n.up() {
		x.guardians.tempt(n.end, n.self, n.elector.noted)
	}
}
