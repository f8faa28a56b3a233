package sim

import (
	"math/bits"
	"time"

	"tenure/server/replica"
)

// The check of progress (M6): in every phase, whenever a majority of voters has been well for servedWithin, it has had
// a ready master that gets on at some time within that. Well is: they run and are scheduled, their acceptors have
// served their silence, their disks answer and have space, and they are connected with each other; what is wrong with
// the others does not matter.
//
// Two more checks look at what nodes decide, with the truth about everybody's disk: nobody lets go of the lease unless
// another one could serve, and who cannot serve does not win it while another one could.

// truth is what the checks know about a node.
type truth struct {
	synced  time.Duration // when its newest commit ended
	laggard time.Duration // until when one of its loops is not scheduled
	run     uint64        // as last looked at
	since   time.Duration // since when it is well; 0: it is not
	able    time.Duration // since when it could serve; 0: it could not
	letGo   time.Duration // when it last let go
	chosen  uint64        // as last looked at
}

// well is what the checks know about the cluster.
type well struct {
	pairs  [5][5]time.Duration // since when two nodes are connected; 0: they are not
	served time.Duration       // when a ready master was last seen that gets on
	stuck  int                 // the most nodes that were stuck at a time since then
	cuts   int
	worst  time.Duration // the longest that a majority that was well had to wait
}

// servedWithin is the stated bound: two bounds of M6, which are 8 lease times of 500 ms or more, for each node that is
// stuck, and twice that while messages get lost or late, or loops are not scheduled. A node whose large messages get
// lost is able, since its disk answers: two of them may win one after the other, and each again when it has stood back
// for the first time.
func (w *world) servedWithin() time.Duration {
	d := 2 * w.plan.part.Progress.Bound * time.Duration(max(1, w.well.stuck))
	if w.phase == phaseFaults && w.plan.on(Drop|LogDrop|Delay|Reorder|Duplicate|Lag) {
		d *= 2
	}
	return d
}

func (w *world) startProgress() {
	w.well.served = w.now
	w.at(nil, kindProgress, w.plan.lease, w.lookForProgress)
}

func (w *world) lookForProgress() {
	w.look()
	if wait := w.now - max(w.well.served, w.wellSince()); w.wellSince() > 0 {
		w.well.worst = max(w.well.worst, wait)
		if wait > w.servedWithin() {
			w.fail("a majority that is well has a master", "none that gets on was seen for %v: %s", wait, w.missing())
		}
	}
	if w.phase != phaseOver {
		w.at(nil, kindProgress, w.plan.lease/8, w.lookForProgress)
	}
}

// look brings what is known of nodes and connections up to date.
func (w *world) look() {
	bound := w.plan.part.Progress.Bound
	for _, n := range w.nodes {
		n.look(bound)
	}
	for i, a := range w.nodes {
		for j, b := range w.nodes {
			since := &w.well.pairs[i][j]
			ok := i == j || (w.passes(a, b) && w.passes(b, a) && w.linked(a, b))
			switch {
			case !ok || w.well.cuts != w.cuts:
				*since = 0
			case *since == 0:
				*since = w.now
			}
		}
	}
	w.well.cuts = w.cuts
	stuck := 0
	for _, n := range w.nodes {
		if n.isStuck() {
			stuck++
		}
	}
	w.well.stuck = max(w.well.stuck, stuck)
	for _, n := range w.nodes {
		if n.servesNow() {
			w.well.served, w.well.stuck = w.now, stuck
		}
	}
	for _, n := range w.nodes {
		if n.up() {
			n.truth.chosen = uint64(n.core.Chosen())
		}
	}
}

// linked reports whether the log connection of two nodes stands, and both know.
func (w *world) linked(a, b *node) bool {
	l, _ := w.link(a, b)
	return l.stands && a.up() && b.up() && a.linked[b.i] == l.generation && b.linked[a.i] == l.generation
}

// look judges one node.
func (n *node) look(bound time.Duration) {
	t, w := &n.truth, n.w
	ok := n.up() && !n.paused && !n.out && n.hand == nil && !n.isStuck() && n.space == replica.SpaceEnough && n.stall == 0 && !n.eio &&
		n.slow == 0 && w.now >= t.laggard && t.run == n.run
	ok = ok && (!w.plan.on(Freeze) || w.phase != phaseFaults)
	t.run = n.run
	switch {
	case !ok:
		t.since = 0
	case t.since == 0:
		t.since = w.now
	}
	switch {
	case !ok || w.now-t.synced >= bound/2-200*time.Millisecond || (t.letGo > 0 && w.now-t.letGo < 2*w.plan.part.Progress.MaxStandBack):
		t.able = 0
	case t.able == 0:
		t.able = w.now
	}
}

// servesNow reports whether n is a ready master at which nothing waits in vain.
func (n *node) servesNow() bool {
	if !n.up() || n.paused {
		return false
	}
	if _, ok := n.pub.Begin(); !ok || !n.pub.Held(n.reading()) {
		return false
	}
	s := n.log.Status(n.reading())
	waits := s.Queued > 0 || s.InFlight > 0 || n.core.Last() > n.core.Chosen()
	return !waits || uint64(n.core.Chosen()) != n.truth.chosen
}

// wellSince returns since when a majority is well, 0 if none is.
func (w *world) wellSince() time.Duration {
	best := time.Duration(0)
	for mask := uint(1); mask < 1<<len(w.nodes); mask++ {
		if bits.OnesCount(mask)*2 <= len(w.nodes) {
			continue
		}
		if since := w.groupSince(mask); since > 0 && (best == 0 || since < best) {
			best = since
		}
	}
	return best
}

// groupSince returns since when all of a group are well and connected with each other, 0 if they are not.
func (w *world) groupSince(mask uint) time.Duration {
	newest := time.Duration(1)
	for i, a := range w.nodes {
		if mask>>i&1 == 0 {
			continue
		}
		for j := range w.nodes {
			if mask>>j&1 == 0 {
				continue
			}
			if w.well.pairs[i][j] == 0 || a.truth.since == 0 {
				return 0
			}
			newest = max(newest, w.well.pairs[i][j], a.truth.since)
		}
	}
	return newest
}

// mayLetGo checks that nobody gives the lease away for nothing: another node's disk has finished something in the last
// half bound, when that node last spoke, a quarter of a bound ago at most.
func (w *world) mayLetGo(n *node, g replica.LetGo) {
	n.truth.letGo = w.now
	if w.phase == phaseStuck && w.stucks.chance(500) { // who serves next dies soon, while this node stands back
		w.at(nil, kindHeal, w.stucks.between(3*w.plan.lease, w.plan.part.Progress.StandBack*3/4), func() { w.killMaster(&w.stucks) })
	}
	recent := w.plan.part.Progress.Bound*3/4 + 100*time.Millisecond
	if w.phase == phaseFaults {
		recent += 4 * w.plan.lease // words and loops are late
	}
	for _, o := range w.nodes {
		if o != n && o.truth.synced > 0 && w.now-o.truth.synced < recent {
			return
		}
	}
	w.fail("nobody lets go for nothing", "node %d lets go (%v), and no other disk has finished anything for a bound", n.id, g)
}

// wins checks that who cannot serve makes way for who can: n has just won the lease.
func (w *world) wins(n *node) {
	p := w.plan.part.Progress
	slack := 250*time.Millisecond + w.plan.lease // of what was known when the attempt began
	unable := n.frozen && w.now-n.truth.synced > p.Bound+slack
	if w.plan.clocked() && n.truth.letGo > 0 && w.now-n.truth.letGo < p.StandBack*9/10 {
		unable = true
	}
	if !unable || w.phase == phaseFaults {
		return
	}
	for _, o := range w.nodes {
		if o != n && o.truth.able > 0 && w.now-o.truth.able > slack && w.well.pairs[n.i][o.i] > 0 && w.now-w.well.pairs[n.i][o.i] > slack {
			w.fail("who cannot serve makes way", "node %d has won the lease (frozen %v, its disk finished something %v ago, it let go %v ago), and node %d has been able for %v",
				n.id, n.frozen, w.now-n.truth.synced, w.now-n.truth.letGo, o.id, w.now-o.truth.able)
		}
	}
}
