package sim

import (
	"time"
)

// Nodes that are stuck (M6): a disk that returns from nothing any more, and a path on which large messages of the log
// get lost while small ones arrive. Both are faults like others; and in a third of the runs with three or five nodes a
// phase of its own follows the faults, in which nothing else is wrong but that masters die and hand over while a
// minority is stuck.

// owed is what a frozen disk would have returned from.
type owed struct {
	run  uint64
	kind kind
	do   func()
}

// diskEnds has do happen when the disk has done something, after d. A frozen disk keeps it until it thaws.
func (n *node) diskEnds(k kind, d time.Duration, do func()) {
	n.w.at(n, k, d, func() {
		if n.frozen {
			n.owed = append(n.owed, owed{run: n.run, kind: k, do: do})
			return
		}
		do()
	})
}

// thaw ends being stuck.
func (n *node) thaw() {
	n.unlarge = 0
	if !n.frozen {
		return
	}
	n.frozen = false
	list := n.owed
	n.owed = nil
	for _, o := range list {
		to := n
		if o.kind == kindStart {
			to = nil // no process runs yet
		} else if o.run != n.run {
			continue
		}
		n.w.at(to, o.kind, n.w.stucks.between(10*time.Microsecond, time.Millisecond), o.do)
	}
	if n.w.trace.on() {
		n.w.trace.note("the disk of node %d answers again", n.id)
	}
}

// loses reports whether messages of that size are lost on the way from and to n.
func (n *node) loses(size int) bool { return n.unlarge > 0 && size > n.unlarge }

// isStuck reports whether anything of this file is wrong with n.
func (n *node) isStuck() bool { return n.frozen || n.unlarge > 0 }

// smallest is the least size of messages that are lost: a barrier entry always arrives, a batch of writes seldom.
const smallest = 40

func (n *node) freeze(f Fault) {
	n.w.effect(f)
	if f == StuckDisk {
		n.frozen = true
	} else {
		n.unlarge = smallest
	}
	if n.w.trace.on() {
		n.w.trace.note("node %d is stuck: %v", n.id, f)
	}
}

// mayStick reports whether another node may be stuck: a majority never is.
func (w *world) mayStick(n *node) bool {
	stuck := w.lost
	for _, o := range w.nodes {
		if o.isStuck() {
			stuck++
		}
	}
	return !n.isStuck() && !n.out && stuck+1 <= (w.plan.nodes-1)/2
}

func stuckOne(w *world, r *random) { w.stick(r, StuckDisk) }
func largeOne(w *world, r *random) { w.stick(r, LargeLost) }

// stick makes a node stuck for a while.
func (w *world) stick(r *random, f Fault) {
	n := w.victim(r)
	if !w.mayStick(n) {
		return
	}
	n.freeze(f)
	w.at(nil, kindFault, r.skewed(w.plan.lease, 4*w.plan.part.Progress.Bound), func() {
		if w.phase == phaseFaults {
			n.thaw()
		}
	})
}

// idleFactor is how much longer clients rest in the phase of stuck nodes, which lasts long.
const idleFactor = 16

// stuckPlan is what a seed draws of the phase of stuck nodes.
type stuckPlan struct {
	rounds int // of misfortunes; 0: there is no such phase
}

// drawStuck draws from a stream of its own, as drawGuardian does.
func (p *plan) drawStuck(seed uint64) {
	r := stream(seed, 12)
	for _, f := range []Fault{StuckDisk, LargeLost} {
		if r.chance(200) {
			p.faults |= f
		}
		p.every[f.index()] = r.skewed(5*p.lease, 40*p.lease)
	}
	if p.nodes >= 3 && r.chance(350) {
		p.stuck.rounds = 3 + r.below(4)
	}
}

// afterFaults begins the phase of stuck nodes, or heals everything.
func (w *world) afterFaults() {
	if w.plan.stuck.rounds == 0 || !w.plan.on(StuckDisk|LargeLost) {
		w.heal()
		return
	}
	w.phase = phaseStuck
	w.at(nil, kindHeal, 0, w.calm)
	w.at(nil, kindHeal, settleFor, func() { w.misfortune(w.plan.stuck.rounds) })
}

// misfortune is one of the phase of stuck nodes, and has the next one come.
func (w *world) misfortune(left int) {
	if left == 0 {
		w.heal()
		return
	}
	r := &w.stucks
	n, stuck := w.nodes[r.below(len(w.nodes))], false
	for _, o := range w.nodes {
		stuck = stuck || o.isStuck()
	}
	switch k := r.below(10); {
	case !stuck || k < 2:
		w.stickNow(r)
	case k < 8:
		w.killMaster(r)
	case k == 8 && n.isStuck():
		n.thaw()
	case k == 8:
		w.stallAll(r)
	case n.up() && !n.isStuck():
		n.handOver(0, false)
	}
	bound := w.plan.part.Progress.Bound
	w.at(nil, kindHeal, r.skewed(w.plan.lease, 2*bound), func() { w.misfortune(left - 1) })
}

// stallAll stops all disks for some bounds of M6: nobody is able meanwhile.
func (w *world) stallAll(r *random) {
	var list []*node
	for _, n := range w.nodes {
		if !n.isStuck() && n.up() {
			n.freeze(StuckDisk)
			list = append(list, n)
		}
	}
	bound := w.plan.part.Progress.Bound
	w.at(nil, kindHeal, r.between(bound, 4*bound), func() {
		for _, n := range list {
			n.thaw()
		}
	})
}

// stickNow makes a node stuck, the master as often as all others together.
func (w *world) stickNow(r *random) {
	if n := w.victim(r); w.mayStick(n) {
		n.freeze(pick(r, StuckDisk, StuckDisk, LargeLost))
	}
}

// killMaster kills the holder of the lease, unless its disk is frozen: a process that waits for it cannot die.
func (w *world) killMaster(r *random) {
	for _, n := range w.nodes {
		if w.phase == phaseStuck && n.up() && !n.frozen && n.pub.Held(n.reading()) {
			n.crash()
			n.restart(r.skewed(time.Millisecond, 4*w.plan.lease), false)
			return
		}
	}
}
