package sim

import (
	"time"

	"tenure/server/replica/clocks"
	"tenure/server/wire"
)

// Nodes that compare their clocks (clocks.Watch). In a few runs they do, as in the runner. There the clocks have
// rates that agree, as far as nodes can tell, whatever else goes wrong: nobody may be out. A phase of its own follows the
// faults: the clock of one node runs at a rate beyond the allowed drift, and then at its own again. The node must be out
// within the stated time, and stay so; it must be back within the stated time; and no other may be out at all.
//
// A node whose clock errs and that is not out yet is outside the promise. But two owners of a lease cannot come of it:
// the other clocks err by a quarter of the drift at most.

// clockPlan is what a seed draws of such runs.
type clockPlan struct {
	on    bool
	times int // a clock errs
}

// drawClocks draws from a stream of its own, as drawGuardian does.
func (p *plan) drawClocks(seed uint64) {
	r := stream(seed, 65)
	if !r.chance(120) || p.nodes < 3 || p.timing.DriftPPM == 0 || p.members.on || p.lease < 200*time.Millisecond {
		return // with short leases the minutes that it takes are too many steps
	}
	p.clocks = clockPlan{on: true, times: 1}
	p.faults &^= Drift | Freeze | Copied | Differ // a node that ends later could be missing where clocks are compared
}

const (
	clockSlack  = 3 * time.Second  // for stamps on their way, and the looks
	awaitAtMost = 10 * time.Minute // from when a clock began to err until the node is back
	clocksRest  = time.Second      // of a client between two operations, since this takes minutes
)

// clockWatch runs a process' watch.
type clockWatch struct {
	*node
	watch   *clocks.Watch
	random  random
	silence time.Duration
	out     bool
	why     string
}

// watchClock begins to compare the clock of a process with those of the others. The others forget their knowledge of an
// earlier process of the node, as with the connection to it.
func (n *node) watchClock() {
	if !n.plan.clocks.on {
		return
	}
	silence, err := n.plan.timing.Exclusion(n.plan.timing.MaxMaster)
	if err != nil {
		n.fail("error", "node %d: %v", n.id, err)
	}
	w := &clockWatch{node: n, watch: clocks.NewWatch(n.plan.timing.DriftPPM), silence: silence,
		random: n.stream(9000 + n.run<<8 + uint64(n.i))}
	n.process.clocks = w
	for _, e := range n.site.net.nodes {
		if o := n.site.nodeOf(e.id); o != nil && o != n && o.up() {
			o.clocks.watch.Forget(n.id)
		}
	}
	n.site.clockFacts.anew()
	w.tick()
}

// distrusted reports whether the process takes no part in leases because of its clock.
func (n *node) distrusted() bool { return n.process != nil && n.clocks != nil && n.clocks.out }

// tick looks, sends a stamp to each of the others, and does so again.
func (w *clockWatch) tick() {
	now := w.reading()
	w.watch.Step(now, 0, w.disk.members.Voters())
	w.why = w.watch.Out(now, w.silence)
	if w.out != (w.why != "") {
		w.out = !w.out
		if w.trace.on() {
			w.trace.note("node %d is out: %q", w.id, w.why)
		}
	}
	w.site.clockFacts.check(w)
	for _, to := range w.site.net.nodes {
		if to != w.end && to.id != 0 {
			w.send(w.site.nodeOf(to.id), w.watch.Stamp(now, to.id))
		}
	}
	w.later(kindClock, w.clock.span(clocks.StampEvery), w.tick)
}

// send sends a stamp. It may be lost and be late like any lease message, but never outlives its connection.
func (w *clockWatch) send(to *node, s clocks.Stamp) {
	if !to.up() || w.faulty(Drop) && w.random.chance(w.plan.dropping) {
		return
	}
	d := w.plan.hop + w.random.between(0, w.plan.hop/4)
	if w.faulty(Reorder) {
		d += w.random.between(0, w.plan.jitter)
	}
	if w.faulty(Delay) && w.random.chance(w.plan.delaying) {
		d += w.random.between(0, w.plan.delay)
	}
	net, from, run := w.site.net, w.node, w.run
	p := net.pack(wire.AppendFrame(nil, wire.EncodeClock(s)))
	net.arrive(w.end, to.end, kindClock, d, p, wire.MaxLeaseBytes, func(body []byte) {
		b, err := wire.DecodeLease(body)
		if err != nil {
			w.fail("frames", "node %d cannot decode a stamp: %v", to.id, err)
		}
		if from.run == run {
			to.clocks.watch.Hear(to.reading(), from.id, *b.Clock)
		}
	})
}

// clockFacts knows whose clock errs, and checks who is out.
type clockFacts struct {
	*engine
	nodes []*node
	errs  *node         // whose clock errs, or did last; nil: nobody's ever did
	erred time.Duration // since when it errs, and all that run now could compare it
	right time.Duration // since when it is right again, likewise; 0: it errs
}

// anew begins the time anew within which the clock is found, or trusted again: a node that has started has nothing to
// compare it with yet.
func (x *clockFacts) anew() {
	switch {
	case x.errs == nil:
	case x.right == 0:
		x.erred = x.now
	default:
		x.right = x.now
	}
}

// check looks at a node after it has looked at its clock.
func (x *clockFacts) check(w *clockWatch) {
	if w.node != x.errs {
		if w.out {
			x.fail("well clocks are trusted", "node %d is out, and its clock is right: %s", w.id, w.why)
		}
		return
	}
	if x.few() {
		return
	}
	found, back := clocks.FoundWithin+clockSlack+x.late(), clocks.BackWithin+w.silence+clockSlack+2*x.late()
	switch {
	case x.right == 0 && !w.out && x.now-x.erred > found:
		x.fail("a clock that errs is found", "the clock of node %d has erred by %d ppm for %v, and it takes part in leases",
			w.id, w.clock.ppm, x.now-x.erred)
	case x.right > 0 && w.out && x.now-x.right > back:
		x.fail("a clock that is right again is trusted", "the clock of node %d has been right for %v, and it is out: %s",
			w.id, x.now-x.right, w.why)
	}
}

// late is what the way of a stamp adds to the time within which a clock is found.
func (x *clockFacts) late() time.Duration {
	return 2 * 2 * x.plan.hop * million / time.Duration(x.plan.timing.DriftPPM/2)
}

// agree draws the rates of all clocks of such a run: any two differ by half of what nodes would notice, at most.
func (w *world) agree() {
	if !w.plan.clocks.on {
		return
	}
	r, most := w.stream(66), w.plan.timing.DriftPPM/8
	for _, n := range w.nodes {
		n.rate = int64(r.below(int(2*most+1))) - most
		n.clock.run(w.now, n.rate)
	}
}

// misclock has the clock of a node err, and be right again, so many times. Over is called after the last.
func (x *clockFacts) misclock(nodes []*node, r *random, left int, over func()) {
	if left == 0 {
		over()
		return
	}
	n := nodes[r.below(len(nodes))]
	x.nodes = nodes
	if !n.up() || n.lost() || x.few() {
		x.misclock(nodes, r, 0, over)
		return
	}
	rho := n.plan.timing.DriftPPM
	ppm := rho + rho/20 + int64(r.below(int(rho/2)))
	if r.chance(500) {
		ppm = -ppm
	}
	x.errs, x.erred, x.right = n, x.now, 0
	n.clock.run(x.now, ppm)
	if x.trace.on() {
		x.trace.note("the clock of node %d errs by %d ppm", n.id, ppm)
	}
	rest := r.between(0, 20*time.Second)
	x.await(func() bool { return n.distrusted() }, func() {
		found, run := n.distrusted(), n.run // or too few are there to find it
		if found {
			x.counts.ClocksFound++
		}
		x.at(nil, kindHeal, rest, func() {
			if found && n.run == run && n.up() && !n.distrusted() && !x.few() {
				x.fail("a clock that errs is found", "node %d takes part in leases again while its clock errs", n.id)
			}
			x.right = x.now
			n.clock.run(x.now, n.rate)
			x.await(func() bool { return !n.distrusted() }, func() { x.misclock(nodes, r, left-1, over) })
		})
	})
}

// await waits until so holds, or the node or too many others have ended for another reason. The time limit for so is
// checked elsewhere, by the check of who is out.
func (x *clockFacts) await(so func() bool, then func()) {
	if so() || !x.errs.up() || x.few() {
		then()
		return
	}
	if x.now-x.erred > awaitAtMost {
		x.fail("a clock that errs is found", "node %d has not looked at its clock", x.errs.id)
	}
	x.at(nil, kindHeal, 100*time.Millisecond, func() { x.await(so, then) })
}

// few reports whether too few nodes compare their clocks for a majority without the one that errs.
func (x *clockFacts) few() bool {
	up := 0
	for _, n := range x.nodes {
		if n.up() {
			up++
		}
	}
	return up <= len(x.nodes)/2+1
}
