package replica

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/kv"
)

const testSession = "11111111-0000-4000-8000-000000000000"

func expiring(key string, ttl time.Duration) kv.Command {
	return kv.Command{Op: kv.OpSet, Key: key, Value: []byte("v"), TTL: ttl}
}

// has reports whether node n has key applied.
func (c *cluster) has(n *testNode, key string) bool {
	c.t.Helper()
	_, found, err := n.state.Get(key)
	c.must(err)
	return found
}

// done writes through n and wants it done.
func (c *cluster) done(n *testNode, id uint64, cmd kv.Command) {
	c.t.Helper()
	if r := c.write(n, id, cmd, time.Second); r.Outcome != Done || r.Result.Code != kv.CodeDone {
		c.t.Fatalf("%+v: %+v", cmd, r)
	}
}

// lasts runs until gone says so, and wants that no sooner than least from now and not long after.
func (c *cluster) lasts(what string, least time.Duration, gone func() bool) {
	c.t.Helper()
	began := c.now
	c.until(what, least+time.Second, gone)
	if took := c.now - began; took < least {
		c.t.Fatalf("%s: after %v, it had %v", what, took, least)
	}
}

func TestKeysExpireOnEveryNodeAndNotBefore(t *testing.T) {
	c := newCluster(t, 3, 1)
	m := c.awaitMaster()
	began := c.now
	c.done(m, 1, expiring("a", 300*time.Millisecond))
	c.until("it is everywhere", time.Second, func() bool {
		return c.has(c.nodes[0], "a") && c.has(c.nodes[1], "a") &&
			c.has(c.nodes[2], "a")
	})
	for _, n := range c.nodes {
		if left, runs := n.log.Remaining(kv.TimedKey, "a", c.now); !runs || left == 0 || left > 300*time.Millisecond {
			t.Errorf("node %d: %v left, %v", n.id, left, runs)
		}
	}
	last := 300 * time.Millisecond
	c.until("it expires", time.Second, func() bool {
		left, _ := m.log.Remaining(kv.TimedKey, "a", c.now) // also while the command that ends it is on its way
		if left > last {
			t.Errorf("%v left, after %v", left, last)
		}
		last = left
		return !c.has(c.nodes[0], "a") && !c.has(c.nodes[1], "a") &&
			!c.has(c.nodes[2], "a")
	})
	if took := c.now - began; took < 300*time.Millisecond || took > 400*time.Millisecond {
		t.Errorf("it expired after %v", took)
	}
	if _, runs := m.log.Remaining(kv.TimedKey, "a", c.now); runs {
		t.Error("its time still runs")
	}
	c.settled()
}

// The next master cannot know for how long nobody could be reached: everything gets its full time from when it is
// ready.
func TestANewMasterStartsAllTimesAnew(t *testing.T) {
	c := newCluster(t, 3, 2)
	m := c.awaitMaster()
	const ttl = 500 * time.Millisecond
	c.done(m, 1, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: testSession, TTL: ttl, LockDelay: ttl}})
	c.done(m, 2, kv.Command{Op: kv.OpSet, Key: "lock", Lock: kv.LockAcquire, Session: kv.Session{ID: testSession}})
	c.done(m, 3, expiring("a", ttl))
	c.run(ttl - 50*time.Millisecond)
	c.crash(m)
	m = c.awaitMaster()
	ready := c.now
	c.lasts("the key expires", ttl-time.Millisecond, func() bool { return !c.has(m, "a") })
	c.until("the session expires", 2*time.Second, func() bool { _, lives := m.state.Session(testSession); return !lives })
	if took := c.now - ready; took < 2*ttl-time.Millisecond || took > 2*ttl+100*time.Millisecond {
		t.Errorf("the session expired after %v", took)
	}
	e, _, err := m.state.Get("lock")
	if err != nil || e.Session != "" {
		t.Fatalf("the lock is held by %q after its session, %v", e.Session, err)
	}
	if _, runs := m.log.Remaining(kv.TimedDelay, "lock", c.now); !runs {
		t.Error("no lock-delay runs")
	}
}

// A session lives for two of its TTLs without a renewal: Patroni and others renew so seldom that they count on it. A
// key lives for one.
func TestASessionLivesForTwoOfItsTTLs(t *testing.T) {
	c := newCluster(t, 3, 4)
	m := c.awaitMaster()
	const ttl = 300 * time.Millisecond
	c.done(m, 1, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: testSession, TTL: ttl}})
	if left, runs := m.log.Remaining(kv.TimedSession, testSession, c.now); !runs || left <= ttl || left > 2*ttl {
		t.Errorf("%v left of a session with a TTL of %v, %v", left, ttl, runs)
	}
	began := c.now
	c.until("the session ends", 2*time.Second, func() bool { _, lives := m.state.Session(testSession); return !lives })
	if took := c.now - began; took < 2*ttl-20*time.Millisecond || took > 2*ttl+100*time.Millisecond {
		t.Errorf("a session with a TTL of %v ended after %v", ttl, took)
	}
}

func TestLockDelaySurvivesAChangeOfMaster(t *testing.T) {
	c := newCluster(t, 3, 3)
	m := c.awaitMaster()
	const delay = 500 * time.Millisecond
	other := strings.Replace(testSession, "1", "2", 1)
	c.done(m, 1, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: testSession, LockDelay: delay}})
	c.done(m, 2, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: other}})
	c.done(m, 3, kv.Command{Op: kv.OpSet, Key: "lock", Lock: kv.LockAcquire, Session: kv.Session{ID: testSession}})
	c.done(m, 4, kv.Command{Op: kv.OpSessionDestroy, Session: kv.Session{ID: testSession}})
	c.crash(m)
	m = c.awaitMaster()
	take := kv.Command{Op: kv.OpSet, Key: "lock", Lock: kv.LockAcquire, Session: kv.Session{ID: other}}
	id, ready := uint64(10), c.now
	for c.write(m, id, take, time.Second).Result.Code == kv.CodeCondition {
		id++
		c.run(10 * time.Millisecond)
	}
	if took := c.now - ready; took < delay-time.Millisecond || took > delay+200*time.Millisecond {
		t.Errorf("the lock could be taken after %v", took)
	}
}

// What a client renews or writes again does not end at the time before, even if the command that ends it is on its way.
func TestAStaleEndChangesNothing(t *testing.T) {
	c := newCluster(t, 3, 4)
	m := c.awaitMaster()
	const ttl = 200 * time.Millisecond
	c.done(m, 1, expiring("a", ttl))
	c.done(m, 2, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: testSession, TTL: ttl}})
	stale := m.log.timers.queue[0].end()
	for id := uint64(3); id < 20; id += 2 {
		c.run(ttl / 2)
		c.done(m, id, expiring("a", ttl))
		c.done(m, id+1, kv.Command{Op: kv.OpSessionRenew, Session: kv.Session{ID: testSession}})
	}
	if r := c.write(m, 30, stale, time.Second); r.Result.Code != kv.CodeCondition {
		t.Errorf("a stale end: %+v", r)
	}
	if _, lives := m.state.Session(testSession); !lives || !c.has(m, "a") {
		t.Error("it ended although it was renewed")
	}
	c.done(m, 31, kv.Command{Op: kv.OpSetTTL, Key: "a"})
	c.run(2 * ttl)
	if !c.has(m, "a") {
		t.Error("a permanent key expired")
	}
	if _, runs := m.log.Remaining(kv.TimedKey, "a", c.now); runs {
		t.Error("its time still runs")
	}
}

func TestNotTooManyEndAtATime(t *testing.T) {
	c := newCluster(t, 3, 5)
	m := c.awaitMaster()
	const keys = 3 * maxAsked
	for i := range keys / 64 {
		for j := range 64 {
			cmd := expiring(fmt.Sprint(i*64+j), 800*time.Millisecond)
			m.input(Event{Write: &Write{ID: uint64(i*64 + j + 1), Command: kv.EncodeCommand(&cmd),
				Until: c.now + time.Second}})
		}
		c.run(10 * time.Millisecond)
	}
	c.crash(m) // so that all are due at the same moment
	m = c.awaitMaster()
	most := 0
	c.until("all expire", 3*time.Second, func() bool {
		most = max(most, m.log.timers.out)
		queued := 0
		for _, w := range m.log.queue.items {
			if w.own {
				queued++
			}
		}
		for _, f := range m.log.batches.inFlight {
			for _, w := range f.writes {
				if w.own {
					queued++
				}
			}
		}
		if queued != m.log.timers.out {
			t.Fatalf("%d are on their way, counted as %d", queued, m.log.timers.out)
		}
		return len(m.log.timers.byName) == 0 && m.state.Applied() > 0
	})
	if most != maxAsked {
		t.Errorf("%d at a time", most)
	}
}

// What is queued or in flight is not asked for again, and a stop takes it back.
func TestNothingIsAskedForTwice(t *testing.T) {
	c := newCluster(t, 3, 9)
	m := c.awaitMaster()
	c.done(m, 1, expiring("a", time.Hour))
	l := m.log
	l.timers.ask(c.now+2*time.Hour, &l.queue)
	l.timers.ask(c.now+3*time.Hour, &l.queue)
	if len(l.queue.items) != 1 || l.timers.out != 1 {
		t.Fatalf("%d queued, counted as %d", len(l.queue.items), l.timers.out)
	}
	l.HandOver(true)
	if len(l.queue.items) != 0 || l.timers.out != 0 || !l.Idle() {
		t.Fatalf("%d queued, counted as %d after a stop", len(l.queue.items), l.timers.out)
	}
	l.Resume()
	l.timers.ask(c.now+4*time.Hour, &l.queue)
	c.until("it is ended", time.Second, func() bool { return !c.has(m, "a") })
}

// Running timers are in the state database: a node that knows them only from there ends them too.
func TestTimersSurviveARestartOfAll(t *testing.T) {
	c := newCluster(t, 3, 10)
	m := c.awaitMaster()
	c.done(m, 1, expiring("a", 2*time.Second))
	for id := uint64(2); id < 200; id++ {
		c.done(m, id, set("b", fmt.Sprint(id)))
	}
	for _, n := range c.nodes {
		c.crash(n)
	}
	for _, n := range c.nodes {
		c.start(n)
		if !c.has(n, "a") {
			t.Fatal("it was not checkpointed: the test shows nothing")
		}
	}
	m = c.awaitMaster()
	c.lasts("it expires", 2*time.Second-time.Millisecond, func() bool { return !c.has(m, "a") })
}

// A node that is not a ready master ends nothing, however late it is.
func TestOnlyAReadyMasterEndsAnything(t *testing.T) {
	c := newCluster(t, 3, 6)
	m := c.awaitMaster()
	c.done(m, 1, expiring("a", 100*time.Millisecond))
	c.until("it is everywhere", time.Second, func() bool {
		return c.has(c.nodes[0], "a") && c.has(c.nodes[1], "a") &&
			c.has(c.nodes[2], "a")
	})
	for _, n := range c.nodes {
		if n != m {
			c.crash(n)
		}
	}
	c.until("mastership ends", 2*time.Second, func() bool { return c.master() == nil })
	c.run(time.Second)
	if len(m.log.queue.items) != 0 || m.log.timers.out != 0 {
		t.Errorf("a node without the lease has %d commands of its own waiting", m.log.timers.out)
	}
	if left, runs := m.log.Remaining(kv.TimedKey, "a", c.now); !runs || left != 0 {
		t.Errorf("%v left, %v", left, runs)
	}
}

// What a stop takes out of the queue is asked for again if the node goes on.
func TestAStopForgetsNoTimer(t *testing.T) {
	c := newCluster(t, 3, 7)
	m := c.awaitMaster()
	c.done(m, 1, expiring("a", 100*time.Millisecond))
	c.run(90 * time.Millisecond)
	m.log.HandOver(true)
	c.run(500 * time.Millisecond)
	if !c.has(m, "a") {
		t.Fatal("it expired while the node was stopping")
	}
	m.log.Resume()
	c.until("it expires", askAgain+time.Second, func() bool { return !c.has(m, "a") })
}

func TestAnswersAreSplitByTheirBodies(t *testing.T) {
	c := newCluster(t, 3, 8)
	l := c.nodes[0].log
	l.out.drain()
	body := strings.Repeat("b", l.cfg.MaxBatchBytes/2)
	for id, b := range []string{"", body, body, body, "", body + body + body, ""} {
		l.out.answerNode(2, ForwardedAnswer{ID: uint64(id), Result: kv.Result{Body: b}})
		l.out.answerNode(3, ForwardedAnswer{ID: uint64(id)})
	}
	got := map[bool][]int{}
	for _, m := range l.out.drain().Messages {
		got[m.To == 2] = append(got[m.To == 2], len(m.Answers))
	}
	if fmt.Sprint(got[true], got[false]) != "[3 2 1 1] [7]" {
		t.Errorf("answers by message %v", got)
	}
	l.out.answerNode(2, ForwardedAnswer{ID: 9})
	if m := l.out.drain().Messages; len(m) != 1 || len(m[0].Answers) != 1 {
		t.Errorf("after a Take: %+v", m)
	}
}

// Whatever is set, set anew, taken away and begun anew, the timer in front is the first that is due.
func TestTimersAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := timers{byName: map[timerName]*timer{}}
		type want struct {
			arm        uint64
			due, after time.Duration
		}
		model, now := map[timerName]want{}, time.Duration(0)
		for arm := range uint64(rapid.IntRange(1, 60).Draw(t, "steps")) {
			now += time.Duration(rapid.IntRange(0, 5).Draw(t, "passes"))
			if rapid.IntRange(0, 9).Draw(t, "step") == 0 {
				x.rearm(now)
				for name, w := range model {
					w.due = now + w.after
					model[name] = w
				}
			} else {
				name := timerName{kv.TimedKey, fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "name"))}
				after := time.Duration(max(0, rapid.IntRange(-4, 20).Draw(t, "after")))
				x.set(kv.Timed{Kind: name.kind, Name: name.name, Arm: arm, After: after}, now)
				if delete(model, name); after > 0 {
					model[name] = want{arm, now + after, after}
				}
			}
			if len(x.queue) != len(model) || len(x.byName) != len(model) {
				t.Fatalf("%d timers in the queue, %d by name, want %d", len(x.queue), len(x.byName), len(model))
			}
			for i, got := range x.queue {
				if w := model[got.timerName]; w != (want{got.arm, got.due, got.after}) || got.place != i ||
					x.byName[got.timerName] != got || x.queue[0].due > got.due {
					t.Fatalf("%+v at place %d, want %+v", got, i, w)
				}
			}
		}
	})
}

// What was set anew ends too: the command names the newest arm.
func TestWhatIsSetAnewEnds(t *testing.T) {
	c := newCluster(t, 3, 5)
	m := c.awaitMaster()
	const ttl = 300 * time.Millisecond
	c.done(m, 1, expiring("a", ttl))
	c.done(m, 2, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: testSession, TTL: ttl}})
	c.run(100 * time.Millisecond)
	c.done(m, 3, expiring("a", ttl))
	c.done(m, 4, kv.Command{Op: kv.OpSessionRenew, Session: kv.Session{ID: testSession}})
	c.until("the key ends", time.Second, func() bool { return !c.has(m, "a") })
	c.until("the session ends", time.Second, func() bool { _, lives := m.state.Session(testSession); return !lives })
}
