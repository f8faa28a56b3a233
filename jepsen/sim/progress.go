package sim

import (
	"time"

	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// The check of progress (M6): in every phase, whenever a majority of voters has been well for servedWithin, it has had
// a ready master that gets on at some time within that. Well means: the voters run and are scheduled, their acceptors
// have served their silence, their disks answer and have space, and they are connected with each other. The state of
// the others does not matter.
//
// Two more checks look at the nodes' decisions, with the truth about everybody's disk. A node lets go of the lease only
// if another one could serve. A node that cannot serve does not win the lease while another one could.

// progress makes these checks.
type progress struct {
	*engine
	nodes   []*node
	net     *network
	members *memberHistory
	truths  [maxMachines]truth                      // by node
	pairs   [maxMachines][maxMachines]time.Duration // since when two nodes are connected; 0: they are not
	cuts    int                                     // of the network, as last looked at
	served  time.Duration                           // when a ready master was last seen that gets on
	stuck   int                                     // the most nodes that were stuck at a time since then
	lacks   bool                                    // a node lacked what others had truncated since then
	worst   time.Duration                           // the longest that a majority that was well had to wait
	// letsGo is called when a node lets go of the lease in the phase of stuck nodes.
	letsGo func()
}

// truth is what the checks know about a node.
type truth struct {
	run    uint64        // as last looked at
	since  time.Duration // since when it is well; 0: it is not
	able   time.Duration // since when it could serve; 0: it could not
	letGo  time.Duration // when it last let go
	chosen uint64        // as last looked at
	won    time.Duration // reading of its clock when it won the lease last
}

// servedWithin returns the stated bound: two bounds of M6 (8 lease times, at least 4 s), for each node that
// is stuck, and twice that while messages get lost or late, or loops are not scheduled. A node whose large messages get
// lost is able, since its disk answers: two of them may win one after the other, and each again when it has stood back
// for the first time.
func (x *progress) servedWithin() time.Duration {
	d := 2 * x.plan.bounds.Bound * time.Duration(max(1, x.stuck))
	if x.faulty(Drop | LogDrop | Delay | Reorder | Duplicate | Lag) {
		d *= 2
	}
	if x.plan.members.on || x.lacks {
		d *= 3 // who lacks what was truncated, and who votes anew, comes first
	}
	return d
}

// start begins to look.
func (x *progress) start() {
	x.served = x.now
	x.at(nil, kindProgress, x.plan.lease, x.check)
}

// check looks, and again after a while, until the run is over.
func (x *progress) check() {
	x.look()
	if since := x.wellSince(); since > 0 {
		wait := x.now - max(x.served, since)
		x.worst = max(x.worst, wait)
		if wait > x.servedWithin() {
			x.fail("a majority that is well has a master", "none that gets on was seen for %v: %s", wait,
				missing(x.nodes))
		}
	}
	if x.phase != phaseOver {
		x.at(nil, kindProgress, x.plan.lease/8, x.check)
	}
}

// look brings what is known of nodes and connections up to date.
func (x *progress) look() {
	stuck := 0
	for _, n := range x.nodes {
		x.lookAt(n)
		if n.isStuck() {
			stuck++
		}
	}
	for i, a := range x.nodes {
		for j, b := range x.nodes {
			since := &x.pairs[i][j]
			switch {
			case i != j && !x.net.connected(a.end, b.end), x.cuts != x.net.cuts:
				*since = 0
			case *since == 0:
				*since = x.now
			}
		}
	}
	x.cuts = x.net.cuts
	x.stuck = max(x.stuck, stuck)
	for _, n := range x.nodes {
		x.lacks = x.lacks || n.up() && n.log.behind()
	}
	for _, n := range x.nodes {
		if x.serves(n) {
			x.served, x.stuck, x.lacks = x.now, stuck, false
		}
	}
	for i, n := range x.nodes {
		if n.up() {
			x.truths[i].chosen = uint64(n.log.core.Chosen())
		}
	}
}

// lookAt brings what is known of one node up to date.
func (x *progress) lookAt(n *node) {
	t, d, p := &x.truths[n.i], n.disk, &x.plan.bounds
	ok := n.up() && n.elector.elector.QuarantineLeft(n.reading()) == 0 && !n.paused && !n.out && n.hand == nil && !n.distrusted() &&
		!n.isStuck() && d.space == replica.SpaceEnough && d.stall == 0 && !d.eio && d.slow == 0 &&
		x.now >= n.laggard && t.run == n.run && !x.faulty(Freeze)
	if t.run != n.run { // what a node knows of its standing back ends with its run
		t.run, t.letGo = n.run, 0
	}
	switch {
	case !ok:
		t.since = 0
	case t.since == 0:
		t.since = x.now
	}
	switch {
	case !ok || x.now-d.synced >= p.Bound/2-200*time.Millisecond || (t.letGo > 0 && x.now-t.letGo < 2*p.MaxStandBack),
		n.log.behind():
		t.able = 0
	case t.able == 0:
		t.able = x.now
	}
}

// serves reports whether n is a ready master at which nothing waits in vain.
func (x *progress) serves(n *node) bool {
	if !n.up() || n.paused || n.log.hung > 0 {
		return false
	}
	if _, ok := n.board.pub.Begin(); !ok || !n.board.held() {
		return false
	}
	s := n.log.log.Status(n.reading())
	waits := s.Queued > 0 || s.InFlight > 0 || n.log.core.Last() > n.log.core.Chosen()
	return !waits || uint64(n.log.core.Chosen()) != x.truths[n.i].chosen
}

// wellSince returns since when a majority is well, 0 if none is.
func (x *progress) wellSince() time.Duration {
	best := time.Duration(0)
	voters, before := x.members.voting()
	for mask := voters | before; mask != 0; mask = (mask - 1) & (voters | before) {
		if !mask.majorityOf(voters) || before != 0 && !mask.majorityOf(before) {
			continue
		}
		if since := x.groupSince(mask); since > 0 && (best == 0 || since < best) {
			best = since
		}
	}
	return best
}

// groupSince returns since when all of a group are well and connected with each other, 0 if they are not.
func (x *progress) groupSince(mask machineSet) time.Duration {
	newest := time.Duration(1)
	for i := range x.nodes {
		if !mask.has(i) {
			continue
		}
		for j := range x.nodes {
			if !mask.has(j) {
				continue
			}
			if x.pairs[i][j] == 0 || x.truths[i].since == 0 {
				return 0
			}
			newest = max(newest, x.pairs[i][j], x.truths[i].since)
		}
	}
	return newest
}

// letGo checks that a node which gets nowhere does not give the lease away in vain. Another node's disk must have
// finished something within half a bound before that node last spoke, and the node must have spoken a quarter of a bound
// ago at most. A node whose state differs, or which does not vote any more, must not be master, whoever else can be.
func (x *progress) letGo(m *machine, g elector.LetGo) {
	x.truths[m.i].letGo = x.now
	if x.phase == phaseStuck {
		x.letsGo()
	}
	if g.Reason == elector.ReasonDiffers || g.Reason == elector.ReasonNoVoter {
		return
	}
	recent := x.plan.bounds.Bound*3/4 + 100*time.Millisecond
	if x.phase == phaseFaults {
		recent += 4 * x.plan.lease // reports and loops are late
	}
	for _, o := range x.nodes {
		if synced := o.disk.synced; o.machine != m && synced > 0 && x.now-synced < recent {
			return
		}
	}
	x.fail("nobody lets go for nothing", "node %d lets go (%v), and no other disk has finished anything for a bound",
		m.id, g)
}

// stoodBack takes note that a node has handed over by command, between two looks: it leaves the lease to others for a
// while.
func (x *progress) stoodBack(m *machine) { x.truths[m.i].since, x.truths[m.i].able = 0, 0 }

// won checks that a node that cannot serve makes way for one that can: node m has just won the lease.
func (x *progress) won(m *machine) {
	n, t, p := x.nodes[m.i], &x.truths[m.i], x.plan.bounds
	t.won = m.reading()
	slack := 250*time.Millisecond + x.plan.lease // of what was known when the attempt began
	// A node knows of a log that hangs after a bound.
	unable := n.disk.frozen && x.now-max(n.disk.synced, n.log.hung) > p.Bound+slack
	if x.plan.clocked() && t.run == n.run && t.letGo > 0 && x.now-t.letGo < p.StandBack*9/10 {
		unable = true
	}
	if !unable || x.phase == phaseFaults {
		return
	}
	voters, _ := x.members.voting()
	for i, o := range x.nodes {
		able, pair := x.truths[i].able, x.pairs[n.i][i]
		if o != n && voters.has(i) && able > 0 && x.now-able > slack && pair > 0 && x.now-pair > slack {
			x.fail("who cannot serve makes way",
				"node %d has won the lease (frozen %v, its disk finished something %v ago, "+
					"it let go %v ago), and node %d has been able for %v",
				n.id, n.disk.frozen, x.now-n.disk.synced, x.now-t.letGo, o.id, x.now-able)
		}
	}
}
