package replica

import (
	"strings"
	"testing"
	"time"

	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/server/replica/elector"
)

// testBound is the bound of M6 under testConfig.
const testBound = 2 * time.Second

// elect makes n the next master: everybody else is paused until it holds the lease.
func (c *cluster) elect(n *testNode) {
	c.t.Helper()
	old := c.awaitMaster()
	if old == n {
		return
	}
	for _, o := range c.nodes {
		if o != n {
			c.stepLease(o, elector.Event{StandBack: 2 * testLease})
		}
	}
	c.stepLease(n, elector.Event{Nudged: true})
	old.log.StepDown(c.now)
	c.stepLease(old, elector.Event{Release: &elector.Release{StandBack: testLease, Why: elector.CauseHandedOver}})
	c.until("the lease of the chosen node", time.Second, func() bool { return n.pub.Held(c.now) })
}

// TestM6FrozenAtAnElection: a node whose disk has stopped in an idle cluster wins the lease, cannot become ready and
// lets go. Another node serves. The first one does not try while its disk does not answer.
func TestM6FrozenAtAnElection(t *testing.T) {
	c := newCluster(t, 3, 1)
	c.awaitMaster()
	c.run(3 * testBound) // idle: nobody knows anything of anybody's disk
	frozen := c.nodes[2]
	if c.master() == frozen {
		frozen = c.nodes[1]
	}
	frozen.frozen = true
	c.elect(frozen)
	won := c.now
	c.until("another master", 2*testBound, func() bool { m := c.master(); return m != nil && m != frozen })
	if took := c.now - won; took < testBound || took > testBound+2*testLease {
		t.Errorf("another master after %v", took)
	}
	if len(frozen.letGo) != 1 || frozen.letGo[0].Reason != elector.ReasonUnready {
		t.Fatalf("let go: %v", frozen.letGo)
	}
	tries := len(frozen.attempts)
	for range 20 { // masters come and go, and the frozen node does not try
		m := c.awaitMaster()
		c.crash(m)
		c.run(3 * testLease)
		c.start(m)
		c.run(2 * testLease)
	}
	if len(frozen.attempts) != tries || len(frozen.letGo) != 1 {
		t.Errorf("the frozen node tried %d times more, and let go: %v", len(frozen.attempts)-tries, frozen.letGo)
	}
	if s := frozen.log.Standing(c.now); s.Able || s.StandBack == 0 || s.DiskUnanswered < testBound {
		t.Errorf("the frozen node says %+v", s)
	}
	frozen.frozen = false
	c.run(testBound)
	if s := frozen.log.Standing(c.now); s.StandBack != 0 || s.DiskUnanswered != 0 {
		t.Errorf("after its disk came back: %+v", s)
	}
}

// TestM6WhoIsNotAbleMakesWay: a follower whose disk has stopped does not try for the lease while it hears one that is
// able.
func TestM6WhoIsNotAbleMakesWay(t *testing.T) {
	for seed := uint64(10); seed < 16; seed++ {
		c := newCluster(t, 3, seed)
		m := c.awaitMaster()
		frozen := c.nodes[m.id%3] // the first in the ring after the master
		frozen.frozen = true
		for i := range uint64(6) {
			c.run(testBound / 4)
			if r := c.write(m, i+1, set("k", "v"), time.Second); r.Outcome != Done {
				t.Fatalf("write %d: %+v", i, r)
			}
		}
		c.run(200 * time.Millisecond) // a message of health later
		tries := len(frozen.attempts)
		c.crash(m)
		c.run(2 * testLease)
		if n := len(frozen.attempts) - tries; n != 0 {
			t.Errorf("seed %d: node %d, whose disk has stopped, made %d attempts", seed, frozen.id, n)
		}
	}
}

// TestM6AReportCountsFromWhenItCame, and not from when the log part takes it, which may have hung in between.
func TestM6AReportCountsFromWhenItCame(t *testing.T) {
	c := newCluster(t, 3, 1)
	m := c.awaitMaster()
	for _, o := range c.nodes {
		if o != m {
			c.crash(o)
		}
	}
	c.run(testBound)
	for ago, counts := range map[time.Duration]bool{testBound: false, 0: true} {
		m.input(Event{Health: &Health{Able: true}, From: c.nodes[0].id%3 + 1, Heard: c.now - ago})
		m.input(Event{Health: &Health{Able: true}, From: c.nodes[1].id%3 + 1, Heard: c.now - ago})
		c.run(testBound / 20)
		if m.log.progress.hears(c.now, able) != counts {
			t.Errorf("a report of %v ago counts: %v", ago, !counts)
		}
	}
}

// TestM6LargeFramesDoNotArrive: a ready master whose large frames are lost is stuck once something large waits.
func TestM6LargeFramesDoNotArrive(t *testing.T) {
	c := newCluster(t, 3, 2)
	m := c.awaitMaster()
	c.large = m.id
	large := set("k", strings.Repeat("x", 10*smallFrame))
	if r := c.write(m, 1, set("k", "small"), time.Second); r.Outcome != Done {
		t.Fatalf("a small write: %+v", r)
	}
	m.input(Event{Write: &Write{ID: 2, Command: kv.EncodeCommand(&large), Until: c.now + time.Minute}})
	c.until("another master", testBound+2*testLease, func() bool { n := c.master(); return n != nil && n != m })
	if len(m.letGo) != 1 || m.letGo[0].Reason != elector.ReasonStuck || m.letGo[0].For < testBound {
		t.Fatalf("let go: %v", m.letGo)
	}
	if s := m.log.Standing(c.now); s.Able || s.StandBack < time.Second {
		t.Errorf("it says %+v", s)
	}
	if r := c.write(c.master(), 3, large, time.Second); r.Outcome != Done {
		t.Fatalf("a large write at the next master: %+v", r)
	}
}

// TestM6OwnDiskAloneMovesNobody: while the others' votes make majorities a stalled disk of the master changes nothing.
func TestM6OwnDiskAloneMovesNobody(t *testing.T) {
	c := newCluster(t, 3, 3)
	m := c.awaitMaster()
	m.frozen = true
	for i := range uint64(8) {
		c.run(testBound / 4)
		if r := c.write(m, i+1, set("k", "v"), time.Second); r.Outcome != Done {
			t.Fatalf("write %d: %+v", i, r)
		}
	}
	if c.master() != m || len(m.letGo) != 0 {
		t.Errorf("node %d is not the master any more; it let go: %v", m.id, m.letGo)
	}
}

// TestM6AllDisksSlowMovesNobody: when no disk answers nobody is able, and the lease stays where it is.
func TestM6AllDisksSlowMovesNobody(t *testing.T) {
	c := newCluster(t, 3, 4)
	m := c.awaitMaster()
	for _, n := range c.nodes {
		n.frozen = true
	}
	cmd := set("k", "v")
	m.input(Event{Write: &Write{ID: 1, Command: kv.EncodeCommand(&cmd), Until: c.now + time.Minute}})
	c.run(3 * testBound)
	for _, n := range c.nodes {
		n.frozen = false
	}
	c.until("the write", time.Second, func() bool { _, ok := m.replies[1]; return ok })
	if r := m.replies[1]; r.Outcome != Done || c.master() != m || len(m.letGo) != 0 {
		t.Errorf("%+v; let go: %v", r, m.letGo)
	}
}

// TestM6StandBack: the time doubles each time a node lets go without having been ready, up to its bound.
func TestM6StandBack(t *testing.T) {
	cfg, b := ProgressFor(time.Second), standBack{}
	want := []time.Duration{2, 4, 8, 16, 32, 60, 60}
	for i, w := range want {
		b.begin(0, cfg)
		if !b.stands(time.Hour) {
			t.Error("it ends before a sync has returned")
		}
		b.synced()
		if b.length != w*time.Second || !b.stands(b.length-1) || b.stands(b.length) {
			t.Errorf("time %d: %v", i, b.length)
		}
	}
	b.served()
	if b.begin(0, cfg); b.length != cfg.StandBack {
		t.Errorf("after having been ready: %v", b.length)
	}
}

// TestM6StandsBackAfterALogThatHung: the elector lets go for a log that hangs, and the log stands back when it goes on,
// once for each time.
func TestM6StandsBackAfterALogThatHung(t *testing.T) {
	c := newCluster(t, 3, 5)
	m := c.awaitMaster()
	c.run(2 * testBound)
	m.hangs = true
	c.stepLease(m, elector.Event{})
	m.hangs = false
	if m.pub.Tenure != 0 || m.pub.Hung == 0 {
		t.Fatalf("the elector has not let go: %+v", m.pub)
	}
	tries := len(m.attempts)
	c.run(testLease)
	if s := m.log.Standing(c.now); s.Able || s.StandBack < time.Second || s.StandBack > 2*time.Second {
		t.Errorf("after its log hung: %+v", s)
	}
	if other := c.awaitMaster(); other == m || len(m.attempts) != tries {
		t.Errorf("node %d is master, and the node whose log hung has tried %d times", other.id, len(m.attempts)-tries)
	}
	c.run(3 * time.Second)
	if s := m.log.Standing(c.now); s.StandBack != 0 {
		t.Errorf("after its time: %+v", s)
	}
}

// TestM6StandsBackForOthersOnly: two nodes stand back, one of them for long, and the third dies. Nobody who is able is
// heard, so one of the two tries at once.
func TestM6StandsBackForOthersOnly(t *testing.T) {
	c := newCluster(t, 3, 5)
	c.awaitMaster()
	letGo := func(n *testNode) {
		t.Helper()
		c.elect(c.nodes[2])
		c.run(2 * testBound) // idle: nobody is able
		n.frozen = true
		times := len(n.letGo)
		c.elect(n)
		c.until("that it lets go", 2*testBound, func() bool { return len(n.letGo) > times })
		c.until("another master", testLease*3, func() bool { m := c.master(); return m != nil && m != n })
	}
	a, b := c.nodes[0], c.nodes[1]
	for range 4 {
		letGo(a)
	}
	a.frozen = false
	letGo(b)
	b.frozen = false
	c.run(testLease)
	if left := a.log.Standing(c.now).StandBack; left < time.Second {
		t.Fatalf("node 1 stands back for %v", left)
	}
	if left := b.log.Standing(c.now).StandBack; left < 6*testLease {
		t.Fatalf("node 2 stands back for %v", left)
	}
	if m := c.master(); m != c.nodes[2] {
		t.Fatal("the third node is not the master")
	}
	c.crash(c.nodes[2])
	c.until("a master", 6*testLease, func() bool { return c.master() != nil })
}

// TestM6PiecesStartTheCountAgain: up to ten bounds in all.
func TestM6PiecesStartTheCountAgain(t *testing.T) {
	const bound = time.Second
	for _, tc := range []struct {
		name  string
		every time.Duration // a piece
		want  time.Duration
	}{{"no pieces", time.Hour, bound}, {"too seldom", 3 * bound, bound}, {"often enough", bound / 2, longest * bound}} {
		var p stall
		r := reading{tenure: 1}
		at := time.Duration(0)
		for ; at < time.Minute; at += TickEvery {
			if at%tc.every == 0 {
				r.pieces++
			}
			if p.step(at, r, bound/8); p.over(at, bound) {
				break
			}
		}
		if at != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, at, tc.want)
		}
	}
}

// TestM6AbleIsNoGuess: without a recent sync a node is not able, however idle it is.
func TestM6AbleIsNoGuess(t *testing.T) {
	g := newProgress(ProgressFor(time.Second), 1, quorum.Of(1))
	r := reading{}
	at := func(now time.Duration) bool { g.step(now, r); return g.own.Able }
	if at(10 * time.Second) {
		t.Error("able before any sync")
	}
	if !g.wantsProbe(10 * time.Second) {
		t.Error("no probe although nothing is known")
	}
	g.disk.begin(10*time.Second, 7)
	if at(11*time.Second) || g.wantsProbe(15*time.Second) {
		t.Error("able, or a second probe, while the first has not returned")
	}
	g.durable(7)
	if !at(11*time.Second) || at(12*time.Second) {
		t.Error("a sync that began less than half a bound ago and returned makes able, and no older one")
	}
	g.durable(7)
	r.behind = true
	g.disk.last = 20 * time.Second
	if at(20 * time.Second) {
		t.Error("able behind a truncation point")
	}
	for _, r.space = range []Space{SpaceLow, SpaceTight, SpaceNone} {
		if r.behind = false; at(20*time.Second) || g.own.Fit != (r.space != SpaceNone) {
			t.Errorf("space %v: %+v", r.space, g.own)
		}
	}
}

// TestM6ANewPartProbesAtOnce: a node that has started, or has installed a snapshot, is able soon, even while a master
// gets on. If that master is lost, no time passes until this node's first probe.
func TestM6ANewPartProbesAtOnce(t *testing.T) {
	g := newProgress(ProgressFor(time.Second), 1, quorum.Of(1, 2))
	now := 10 * time.Second
	g.hear(now, 2, Health{Able: true, Fit: true, GetsOn: true})
	if !g.wantsProbe(now) {
		t.Error("no probe although no sync has returned yet")
	}
	g.disk.begin(now, 1)
	g.durable(1)
	for range 20 {
		now += g.cfg.Bound / 8
		g.hear(now, 2, Health{Able: true, Fit: true, GetsOn: true})
		if g.wantsProbe(now) {
			t.Fatal("a probe while a master gets on")
		}
	}
}

// TestM6WhoIsBehindLetsGoAtOnce: a holder that needs a snapshot lets go without waiting for a bound if it hears a node
// that could serve. If it hears none, it keeps the lease.
func TestM6WhoIsBehindLetsGoAtOnce(t *testing.T) {
	for _, other := range []bool{true, false} {
		g := newProgress(ProgressFor(time.Second), 1, quorum.Of(1, 2, 3))
		now := time.Minute
		g.disk.last, g.disk.returned = now, true
		g.hear(now, 2, Health{Able: other})
		if out := g.step(now, reading{tenure: 4}); out.Tenure != 0 {
			t.Errorf("lets go at once though it is not behind: %+v", out)
		}
		out := g.step(now, reading{tenure: 4, behind: true})
		if (out.Tenure == 4) != other || other && (out.Reason != elector.ReasonBehind || g.own.Fit) {
			t.Errorf("another is able %v: %+v, and is %+v itself", other, out, g.own)
		}
		if out := g.step(now, reading{tenure: 4, behind: true, ready: true}); out.Tenure != 0 {
			t.Errorf("a ready master lets go: %+v", out)
		}
	}
}

// TestM6WhoLacksSpaceServesRatherThanNobody: two members have reached their reserve, and the third gets nowhere as
// master: its disk is frozen, or its large frames are lost. One of the two serves what frees space.
func TestM6WhoLacksSpaceServesRatherThanNobody(t *testing.T) {
	for _, frozen := range []bool{true, false} {
		c := newCluster(t, 3, 1)
		c.awaitMaster()
		c.run(3 * testBound)
		third := c.nodes[2]
		for _, n := range c.nodes[:2] {
			n.log.SetDisk(Disk{Space: SpaceLow})
		}
		third.frozen = frozen
		c.elect(third)
		if !frozen {
			c.awaitMaster()
			c.large = third.id
			large := kv.Command{Op: kv.OpDelete, Key: strings.Repeat("k", 10*smallFrame)}
			third.input(Event{Write: &Write{ID: 2, Command: kv.EncodeCommand(&large), Frees: true,
				Until: c.now + time.Hour}})
		}
		c.run(3 * testBound)
		m := c.master()
		if m == nil || m == third {
			t.Fatalf("frozen %v: no master that can serve", frozen)
		}
		if r := c.write(m, 9, kv.Command{Op: kv.OpDelete, Key: "k"}, time.Second); r.Outcome != Done {
			t.Errorf("frozen %v: a delete: %+v", frozen, r)
		}
	}
}

// Writes in flight when the disks of a majority become tight do not block the deletes that make space.
func TestDeletesGoOnBehindAWriteWithoutSpace(t *testing.T) {
	for _, own := range []bool{false, true} {
		c := newCluster(t, 3, 1)
		m := c.awaitMaster()
		c.run(testBound)
		put := set("k", "v")
		m.input(Event{Write: &Write{ID: 1, Command: kv.EncodeCommand(&put), Until: c.now + time.Minute}})
		for _, n := range c.nodes {
			if n != m || own {
				n.log.SetDisk(Disk{Space: SpaceTight})
			}
		}
		c.run(testBound / 2) // the master would let go of the lease after a bound
		if r := c.write(m, 2, kv.Command{Op: kv.OpDelete, Key: "k"}, testBound/4); r.Outcome != Done {
			t.Errorf("the master too %v: %+v", own, r)
		}
	}
}
