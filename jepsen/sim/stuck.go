package sim

import (
	"time"

	"tenure/server/replica/elector"
)

// Nodes that are stuck (M6): a disk whose calls never return, and a path that loses large messages of the log while
// small ones arrive. Both are faults like others. In a third of the runs with three or five nodes a phase of its own
// follows the faults: masters die and hand over while a minority is stuck, and nothing else is wrong.

// mayStick reports whether another node may be stuck: a majority never is.
func (x *nemesis) mayStick(n *node) bool {
	stuck := x.lost
	for _, o := range x.nodes {
		if o.isStuck() {
			stuck++
		}
	}
	if x.plan.members.on {
		stuck = 0
		for _, o := range x.nodes {
			if o.takesPart() && (o.isStuck() || o.lost()) {
				stuck++
			}
		}
		return n.takesPart() && !n.isStuck() && stuck+1 <= (len(x.members.newest().Members)-1)/2
	}
	return !n.isStuck() && !n.out && stuck+1 <= (x.plan.nodes-1)/2
}

func stuckOne(x *nemesis, r *random) { x.stick(r, StuckDisk) }
func largeOne(x *nemesis, r *random) { x.stick(r, LargeLost) }

// stick makes a node stuck for a while.
func (x *nemesis) stick(r *random, f Fault) {
	n := x.victim(r)
	if !x.mayStick(n) {
		return
	}
	n.freeze(f)
	x.at(nil, kindFault, r.skewed(x.plan.lease, 4*x.plan.bounds.Bound), func() {
		if x.phase == phaseFaults {
			n.thaw(&x.stucks)
		}
	})
}

// idleFactor is how much longer clients rest in the phases of stuck nodes and of spares, which last long.
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

// misfortune does one fault of the phase of stuck nodes, and schedules the next one. Over is called after the last.
func (x *nemesis) misfortune(left int, over func()) {
	if left == 0 {
		over()
		return
	}
	r := &x.stucks
	n, stuck := x.nodes[r.below(len(x.nodes))], false
	for _, o := range x.nodes {
		stuck = stuck || o.isStuck()
	}
	switch k := r.below(10); {
	case !stuck || k < 2:
		x.stickNow(r)
	case k < 8:
		x.killMaster(r)
	case k == 8 && n.isStuck():
		n.thaw(&x.stucks)
	case k == 8:
		x.stallAll(r)
	case n.up() && !n.isStuck():
		n.handOver(0, elector.CauseHandedOver)
	}
	bound := x.plan.bounds.Bound
	x.at(nil, kindHeal, r.skewed(x.plan.lease, 2*bound), func() { x.misfortune(left-1, over) })
}

// stallAll stops all disks for some bounds of M6: nobody is able meanwhile.
func (x *nemesis) stallAll(r *random) {
	var list []*node
	for _, n := range x.nodes {
		if !n.isStuck() && n.up() {
			n.freeze(StuckDisk)
			list = append(list, n)
		}
	}
	bound := x.plan.bounds.Bound
	x.at(nil, kindHeal, r.between(bound, 4*bound), func() {
		for _, n := range list {
			n.thaw(&x.stucks)
		}
	})
}

// stickNow makes a node stuck, the master as often as all others together.
func (x *nemesis) stickNow(r *random) {
	if n := x.victim(r); x.mayStick(n) {
		n.freeze(pick(r, StuckDisk, StuckDisk, LargeLost))
	}
}

// killMaster kills the holder of the lease, unless its disk is frozen: a process that waits for it cannot die.
func (x *nemesis) killMaster(r *random) {
	for _, n := range x.nodes {
		if x.phase == phaseStuck && n.up() && !n.disk.frozen && n.board.held() {
			n.crash()
			n.restart(r.skewed(time.Millisecond, 4*x.plan.lease), false)
			return
		}
	}
}

// hunt has whoever serves next die soon, now and then, while a node that let go of the lease stands back.
func (x *nemesis) hunt() {
	if r := &x.stucks; r.chance(500) {
		x.at(nil, kindHeal, r.between(3*x.plan.lease, x.plan.bounds.StandBack*3/4), func() { x.killMaster(r) })
	}
}
