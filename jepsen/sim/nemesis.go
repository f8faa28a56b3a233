package sim

import (
	"time"

	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// effect counts a fault that took effect.
func (w *world) effect(f Fault) {
	for i := range w.counts.Faults {
		if f == 1<<i {
			w.counts.Faults[i]++
		}
	}
}

// misdeed is what a class does now and then.
type misdeed func(w *world, r *random)

// misdeeds are the classes that act by themselves; the others are rates.
var misdeeds = map[Fault]misdeed{
	Break: breakLink, OneWay: cutOneWay, Partition: cutGroups, Crash: crashOne, CrashAll: crashAll, Pause: pauseOne,
	Drift: driftOne, Freeze: freezeOne, SlowDisk: slowOne, StallDisk: stallOne, EIO: failOne, Rot: rotOne, Wipe: wipeOne,
	Low: lowerOne, HandOver: handOverOne, Guardian: askGuardian,
	StuckDisk: stuckOne, LargeLost: largeOne,
}

func (w *world) startNemesis() {
	for i := range faultNames {
		f := Fault(1) << i
		if do := misdeeds[f]; do != nil && w.plan.on(f) {
			w.schedule(i, do)
		}
	}
}

func (w *world) schedule(i int, do misdeed) {
	r := &w.nemesis[i]
	every := w.plan.every[i]
	w.at(nil, kindFault, r.between(every/2, every*3/2), func() {
		if w.phase != phaseFaults {
			return
		}
		if w.trace.on() {
			w.trace.note("%s", faultNames[i])
		}
		do(w, r)
		w.schedule(i, do)
	})
}

// victim is any node, the master as often as all others together.
func (w *world) victim(r *random) *node {
	if r.chance(500) {
		for _, n := range w.nodes {
			if n.up() && n.pub.Held(n.reading()) {
				return n
			}
		}
	}
	return w.nodes[r.below(len(w.nodes))]
}

// moment is the length of a fault: from a tenth of a lease to a few of them.
func (w *world) moment(r *random) time.Duration { return r.skewed(w.plan.lease/10, 4*w.plan.lease) }

func breakLink(w *world, r *random) {
	if len(w.links) > 0 {
		l := w.links[r.below(len(w.links))]
		if l.stands {
			w.effect(Break)
		}
		l.sever()
	}
}

// during sets a cut and ends it after a while, unless another one has come.
func (w *world) during(cut [5][5]bool, d time.Duration) {
	w.setCut(cut)
	epoch := w.cuts
	w.at(nil, kindFault, d, func() {
		if w.cuts == epoch {
			w.setCut([5][5]bool{})
		}
	})
}

// cutOneWay stops one direction: between two nodes, from one node to all, or from all to one.
func cutOneWay(w *world, r *random) {
	if len(w.nodes) == 1 {
		return
	}
	a, b := w.victim(r).i, r.below(len(w.nodes))
	shape := r.below(3)
	var cut [5][5]bool
	for i := range w.nodes {
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
	w.effect(OneWay)
	w.during(cut, w.moment(r))
}

// cutGroups splits the nodes in two groups, or, now and then, leaves each only its neighbours in a ring.
func cutGroups(w *world, r *random) {
	if len(w.nodes) == 1 {
		return
	}
	var cut [5][5]bool
	side := uint64(1) << w.victim(r).i
	switch r.below(3) {
	case 0:
		side = r.next()
	case 1:
		side |= 1 << r.below(len(w.nodes))
	}
	ring := len(w.nodes) == 5 && r.chance(150)
	for i := range w.nodes {
		for j := range w.nodes {
			cut[i][j] = side>>i&1 != side>>j&1
			if ring {
				cut[i][j] = (i-j+5)%5 == 2 || (i-j+5)%5 == 3
			}
		}
	}
	w.effect(Partition)
	w.during(cut, w.moment(r))
}

func crashOne(w *world, r *random) {
	n := w.victim(r)
	if !n.up() {
		return
	}
	w.effect(Crash)
	n.crash()
	n.restart(r.skewed(time.Millisecond, 4*w.plan.lease), r.chance(300))
}

func crashAll(w *world, r *random) {
	w.effect(CrashAll)
	for _, n := range w.nodes {
		n.crash()
		n.restart(r.skewed(time.Millisecond, w.plan.lease), r.chance(300))
	}
}

func pauseOne(w *world, r *random) {
	n := w.victim(r)
	if n.up() && !n.paused {
		w.effect(Pause)
		n.pause(r.skewed(w.plan.lease/10, 6*w.plan.lease))
	}
}

func driftOne(w *world, r *random) {
	n := w.nodes[r.below(len(w.nodes))]
	w.effect(Drift)
	n.drift(w.now)
}

// freezeOne is outside the promise: a clock stands still for a while, runs far too slowly, or jumps.
func freezeOne(w *world, r *random) {
	n := w.victim(r)
	w.effect(Freeze)
	if r.chance(200) {
		n.clock.jump(w.now, w.moment(r))
		return
	}
	n.clock.run(w.now, pick(r, int64(-million), -million, -400_000, 900_000))
	w.at(nil, kindFault, 3*w.moment(r), func() { n.clock.run(w.now, 0) })
}

func slowOne(w *world, r *random) {
	n := w.victim(r)
	w.effect(SlowDisk)
	n.slow = r.skewed(time.Millisecond, w.plan.lease/2)
	w.at(nil, kindFault, 2*w.moment(r), func() { n.slow = 0 })
}

func stallOne(w *world, r *random) { w.victim(r).stall = w.moment(r) }

func failOne(w *world, r *random) { w.victim(r).eio = true }

// mayLose tells whether one more disk may be lost for good: the promise is for a minority.
func (w *world) mayLose(n *node) bool {
	if n.disk.rotten() || n.out || n.wiped || w.lost+1 > (w.plan.nodes-1)/2 {
		return false
	}
	w.lost++
	return true
}

// rotOne makes a record of the log go bad, or the state database, or a bit of the journal.
func rotOne(w *world, r *random) {
	n := w.victim(r)
	d := n.disk
	first, last := d.marks.Truncated+1, d.marks.Last
	if last < first || !w.mayLose(n) {
		return
	}
	w.effect(Rot)
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
func wipeOne(w *world, r *random) {
	n := w.victim(r)
	if !w.mayLose(n) {
		return
	}
	w.effect(Wipe)
	n.crash()
	n.wiped = true
	n.thaw()
	n.disk = newDisk(ident.StoreID{byte(n.id), 2})
	n.restart(r.skewed(time.Millisecond, w.plan.lease), false)
}

func lowerOne(w *world, r *random) {
	n := w.victim(r)
	w.effect(Low)
	n.space = pick(r, replica.SpaceLow, replica.SpaceTight, replica.SpaceTight, replica.SpaceNone)
	w.at(nil, kindFault, w.moment(r), func() {
		if w.phase == phaseFaults { // else it may be the one that stays full
			n.space = replica.SpaceEnough
		}
	})
}

// handOverOne: the master hands over, to a node or to anybody; or some node is stopped in order.
func handOverOne(w *world, r *random) {
	n := w.victim(r)
	if !n.up() || n.paused {
		return
	}
	w.effect(HandOver)
	if r.chance(300) {
		n.handOver(0, true)
		return
	}
	next := w.nodes[r.below(len(w.nodes))]
	if next == n {
		n.handOver(0, false)
		return
	}
	n.handOver(next.id, false)
}
