package leases

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
)

// world is some nodes' parts for named leases, one clock, and a network that delivers what is not cut off after a
// fixed delay.
type world struct {
	t       *testing.T
	now     time.Duration
	nodes   map[ballot.NodeID]*driven
	runs    map[ballot.NodeID]ballot.Incarnation
	cut     map[ballot.NodeID]bool
	wire    []letter
	answers map[uint64]Answer
	nextID  uint64
	sent    int // messages
	batches int
}

type letter struct {
	at    time.Duration
	from  ballot.Incarnation
	batch Batch
}

const (
	delay   = 200 * time.Microsecond
	testTTL = time.Second
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Minute, nodes: map[ballot.NodeID]*driven{},
		runs: map[ballot.NodeID]ballot.Incarnation{},
		cut:  map[ballot.NodeID]bool{}, answers: map[uint64]Answer{}}
	for n := ballot.NodeID(1); n <= 3; n++ {
		w.boot(n, 1, 0)
		w.nodes[n].give(w.now, Event{Era: 1})
	}
	return w
}

// boot starts a run of a node, silent for a while if it is not the first.
func (w *world) boot(n ballot.NodeID, restart uint64, silence time.Duration) {
	w.t.Helper()
	w.runs[n] = ballot.Incarnation{Node: n, Restart: restart, Nonce: uint64(n)*100 + restart}
	l, err := New(Config{Self: w.runs[n], Voters: quorum.Of(1, 2, 3), MaxTasks: 100, Seed: uint64(n),
		Table: named.Config{Timing: lease.Timing{MaxMaster: time.Second, MaxUser: 30 * time.Second, DriftPPM: 10_000,
			Margin: 10 * time.Millisecond},
			SilentUntil: w.now + silence, MaxRecords: 100, Linger: time.Second, Width: 100 * time.Millisecond}}, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.nodes[n] = drive(l)
}

func (w *world) ask(n ballot.NodeID, op Op, name, who string, wait time.Duration) uint64 {
	w.nextID++
	r := Request{ID: w.nextID, Op: op, Owner: who, Duration: testTTL, Until: w.now + wait + 2*time.Second}
	copy(r.Name[:], name)
	copy(r.Acquisition[:], who)
	if wait > 0 {
		r.WaitUntil = w.now + wait
	}
	w.nodes[n].give(w.now, Event{Request: &r})
	w.collect(n)
	return r.ID
}

// collect takes what a node wants to say.
func (w *world) collect(n ballot.NodeID) {
	batches, answers := w.nodes[n].sent()
	w.batches += len(batches)
	for _, b := range batches {
		w.sent += len(b.Requests) + len(b.Replies)
		if !w.cut[n] && !w.cut[b.To] {
			w.wire = append(w.wire, letter{w.now + delay, w.runs[n], b})
		}
	}
	for _, a := range answers {
		if _, twice := w.answers[a.ID]; twice {
			w.t.Errorf("request %d is answered twice", a.ID)
		}
		w.answers[a.ID] = a
	}
}

// pass lets time go by, event by event.
func (w *world) pass(d time.Duration) {
	for end := w.now + d; ; {
		next := end
		for _, l := range w.wire {
			next = min(next, l.at)
		}
		for _, n := range w.nodes {
			next = min(next, n.nextWake())
		}
		if next >= end {
			w.now = end
			return
		}
		w.now = max(w.now, next)
		for len(w.wire) > 0 && w.wire[0].at <= w.now {
			l := w.wire[0]
			w.wire = w.wire[1:]
			w.nodes[l.batch.To].give(w.now, Event{Batch: &l.batch, From: l.from})
			w.collect(l.batch.To)
		}
		for _, n := range []ballot.NodeID{1, 2, 3} {
			if w.nodes[n].nextWake() <= w.now {
				w.nodes[n].give(w.now)
				w.collect(n)
			}
		}
	}
}

func (w *world) want(id uint64, o Outcome) Answer {
	w.t.Helper()
	a, ok := w.answers[id]
	if !ok || a.Outcome != o {
		w.t.Fatalf("request %d: answered %v, %+v; want outcome %d", id, ok, a, o)
	}
	return a
}

const soon = 5 * time.Millisecond

func TestLeaseLife(t *testing.T) {
	w := newWorld(t)
	a := w.ask(1, Acquire, "x", "a", 0)
	w.pass(soon)
	first := w.want(a, Done)
	// Two rounds, each to two others and back, and nothing else.
	w.pass(lingerMost)
	if w.sent != 8 {
		t.Errorf("%d messages", w.sent)
	}
	b := w.ask(2, Acquire, "x", "b", 0)
	w.pass(soon)
	if busy := w.want(b, Busy); busy.Owner != "a" || busy.RetryAfter > 1040*time.Millisecond ||
		busy.RetryAfter < testTTL {
		t.Errorf("busy: %+v", busy)
	}
	w.pass(800 * time.Millisecond)
	c := w.ask(3, Renew, "x", "a", 0)
	w.pass(soon)
	if again := w.want(c, Done); again.Token < first.Token || again.Counter == first.Counter {
		t.Errorf("renewed: %+v after %+v", again, first)
	}
	d := w.ask(2, Release, "x", "a", 0)
	w.pass(soon)
	w.want(d, Done)
	e := w.ask(3, Acquire, "x", "b", 0)
	w.pass(soon)
	if second := w.want(e, Done); second.Token <= first.Token {
		t.Errorf("token %v after %v", second.Token, first.Token)
	}
	f := w.ask(1, Renew, "x", "a", 0)
	w.pass(soon)
	w.want(f, Gone)
}

// An attempt asks as few as make a quorum at once, and all nodes hear of the lease a little later, in fewer batches.
func TestAnAttemptAsksAQuorumFirst(t *testing.T) {
	w := newWorld(t)
	var ids []uint64
	for _, name := range []string{"x", "y", "z", "u"} {
		ids = append(ids, w.ask(1, Acquire, name, "a", 0))
	}
	w.pass(5 * delay)
	for _, id := range ids {
		w.want(id, Done)
	}
	w.pass(lingerMost + 2*delay)
	for n, l := range w.nodes {
		for _, name := range []string{"x", "y", "z", "u"} {
			if _, live := l.Live(w.now, named.Name([]byte(name+strings.Repeat("\x00", 16-len(name))))); !live {
				t.Errorf("node %d does not know of %s", n, name)
			}
		}
	}
	if w.sent != 8*len(ids) {
		t.Errorf("%d messages", w.sent)
	}
	if w.batches >= 8*len(ids)-3 {
		t.Errorf("%d batches", w.batches)
	}
}

// A node that does not answer holds attempts up once; until it answers again the others are asked at once.
func TestASilentNodeIsNotAskedFirst(t *testing.T) {
	w := newWorld(t)
	w.cut[3] = true
	slow := 0
	for i := range 20 {
		id := w.ask(1, Acquire, fmt.Sprint("n", i), "a", 0)
		if w.pass(5 * delay); w.answers[id].Outcome == 0 {
			slow++
			w.pass(soon)
		}
		w.want(id, Done)
	}
	if slow != 1 {
		t.Errorf("%d of 20 attempts waited for a node that is gone", slow)
	}
	w.cut[3], w.cut[2] = false, true
	w.want(acquired(w, "m", 2*soon), Done) // 3 answers again, 2 does not
	slow = 0
	for i := range 20 {
		id := w.ask(1, Acquire, fmt.Sprint("o", i), "a", 0)
		if w.pass(5 * delay); w.answers[id].Outcome == 0 {
			slow++
			w.pass(soon)
		}
		w.want(id, Done)
	}
	if slow > 1 {
		t.Errorf("%d of 20 attempts waited for a node that is gone", slow)
	}
}

func acquired(w *world, name string, within time.Duration) uint64 {
	id := w.ask(1, Acquire, name, "a", 0)
	w.pass(within)
	return id
}

// Where one of those that are asked first refuses, the others are asked at once.
func TestARefusalAsksTheOthers(t *testing.T) {
	w := newWorld(t)
	w.cut[3] = true
	w.want(acquired(w, "x", 2*soon), Done) // with node 2
	w.cut[3] = false
	for range 3 { // whomever it asks first
		id := w.ask(3, Acquire, "x", "b", 0)
		w.pass(soon)
		w.want(id, Busy)
	}
}

// Those that wait on one node are served in order, and a release is heard of at once.
func TestLeaseQueue(t *testing.T) {
	w := newWorld(t)
	a := w.ask(1, Acquire, "x", "a", 0)
	w.pass(soon)
	w.want(a, Done)
	var ids []uint64
	for _, who := range []string{"b", "c", "d"} {
		ids = append(ids, w.ask(2, Acquire, "x", who, 20*time.Second))
	}
	short := w.ask(2, Acquire, "x", "e", 100*time.Millisecond)
	w.pass(90 * time.Millisecond)
	if len(w.answers) != 1 {
		t.Fatalf("%d answers", len(w.answers))
	}
	w.pass(20 * time.Millisecond)
	if busy := w.want(short, Busy); busy.Owner != "a" {
		t.Errorf("%+v", busy)
	}
	w.ask(3, Release, "x", "a", 0)
	w.pass(20 * time.Millisecond)
	if got := w.want(ids[0], Done); got.Waited < 100*time.Millisecond || got.Waited > 200*time.Millisecond {
		t.Errorf("waited %v", got.Waited)
	}
	// The first one dies; the next gets it when the exclusion ends, and a little later for its rank.
	w.pass(testTTL)
	if _, early := w.answers[ids[1]]; early {
		t.Fatal("the lease was given before the exclusion had ended")
	}
	w.pass(60 * time.Millisecond)
	w.want(ids[1], Done)
	w.ask(1, Release, "x", "c", 0)
	w.pass(20 * time.Millisecond)
	w.want(ids[2], Done)
	if len(w.nodes[2].queues.byName) != 0 || w.nodes[2].queues.waiting != 0 || len(w.nodes[2].tasks) != 0 {
		t.Error("something is left of the queue")
	}
}

// A release that comes while the first of those who wait tries, and is blocked, is heard all the same.
func TestAReleaseDuringATryIsHeard(t *testing.T) {
	w := newWorld(t)
	w.ask(1, Acquire, "x", "a", 0)
	w.pass(soon)
	b := w.ask(2, Acquire, "x", "b", 20*time.Second)
	w.pass(soon)
	q := w.nodes[2].queues.byName[named.Name{'x'}]
	w.nodes[2].queues.wake(q, w.now)
	w.nodes[2].give(w.now)
	w.collect(2)
	w.pass(delay + delay/2) // its promises, which tell of the lease, are on their way
	w.ask(2, Release, "x", "a", 0)
	w.pass(20 * time.Millisecond)
	w.want(b, Done)
}

// A node that is cut off answers that it has no quorum. The others go on with the lease that was acquired through it.
func TestALeaseOutlivesItsNode(t *testing.T) {
	w := newWorld(t)
	a := w.ask(1, Acquire, "x", "a", 0)
	w.pass(soon)
	w.want(a, Done)
	w.cut[1] = true
	b := w.ask(2, Renew, "x", "a", 0)
	c := w.ask(1, Acquire, "y", "b", 0)
	w.pass(soon)
	w.want(b, Done)
	w.pass(3 * time.Second)
	if a := w.want(c, NotApplied); a.Reason != NoQuorum {
		t.Errorf("%v", a.Reason)
	}
	w.cut[1] = false
	d := w.ask(1, Acquire, "y", "b", 0)
	w.pass(soon)
	w.want(d, Done)
}

// With one node gone, another that refuses leaves no quorum, although nobody knows. The next attempt comes soon.
func TestARefusalAndASilenceAreNoQuorum(t *testing.T) {
	w := newWorld(t)
	w.cut[3] = true
	w.cut[1] = true
	w.nodes[2].table.Handle(w.now, w.runs[3], named.Request{Kind: named.Prepare, Name: named.Name{'x'}, Counter: 50})
	w.cut[1] = false
	a := w.ask(1, Acquire, "x", "a", 0)
	w.pass(300 * time.Millisecond)
	w.want(a, Done)
}

// Accept may have arrived: the outcome is unknown, and a retry under the same acquisition through another node is the
// same owner.
func TestAnUnknownAcquireIsRetriedElsewhere(t *testing.T) {
	w := newWorld(t)
	a := w.ask(1, Acquire, "x", "a", 0)
	w.pass(delay + delay/2) // Prepare has arrived
	w.pass(delay)           // and the promises; Accept is out
	w.cut[2], w.cut[3] = true, true
	w.pass(3 * time.Second)
	w.want(a, Unknown)
	w.cut[2], w.cut[3] = false, false
	b := w.ask(2, Acquire, "x", "a", 0)
	w.pass(soon)
	w.want(b, Done)
}

// N3: a run without an era of its own does not vote, whatever time passes; A4: nor before its silence is over.
func TestARestartedNodeKeepsSilence(t *testing.T) {
	w := newWorld(t)
	w.cut[3] = true
	w.boot(2, 2, 2*time.Second)
	if !w.nodes[2].needsEra() {
		t.Error("a new run asks for no era")
	}
	for _, step := range []struct {
		do   func()
		want Outcome
	}{
		{func() {}, NotApplied},
		{func() { w.pass(time.Second) }, NotApplied},
		{func() { w.nodes[2].give(w.now, Event{Era: 7}) }, Done},
	} {
		step.do()
		id := w.ask(1, Acquire, "x", fmt.Sprint("a", step.want, w.now), 0)
		w.pass(2500 * time.Millisecond)
		if got := w.want(id, step.want); step.want == Done && got.Token.Era() != 7 {
			t.Errorf("token %v", got.Token)
		}
	}
}

// What contenders on all nodes leave behind when they get in each other's way does not block them for a lease time.
func TestContendersDoNotBlockEachOther(t *testing.T) {
	w := newWorld(t)
	var ids []uint64
	for i := range 9 {
		ids = append(ids, w.ask(ballot.NodeID(i%3+1), Acquire, "x", fmt.Sprint("c", i), 0))
	}
	w.pass(900 * time.Millisecond)
	owners := 0
	for _, id := range ids {
		if a := w.answers[id]; a.Outcome == Done {
			owners++
		}
	}
	if owners != 1 || len(w.answers) != 9 {
		t.Errorf("%d owners of %d answers", owners, len(w.answers))
	}
}

func TestLeasesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.cut[1] = true
	var ids []uint64
	for i := range 101 {
		ids = append(ids, w.ask(1, Acquire, fmt.Sprint("n", i), "a", 0))
	}
	if a := w.want(ids[100], NotApplied); a.Reason != Overloaded {
		t.Errorf("%v", a.Reason)
	}
	w.nodes[1].give(w.now, Event{Stop: true})
	w.collect(1)
	if a := w.want(ids[0], NotApplied); a.Reason != Stopping || len(w.answers) != 101 {
		t.Errorf("%v, %d answers", a.Reason, len(w.answers))
	}
	if a := w.want(w.ask(1, Acquire, "x", "a", 0), NotApplied); a.Reason != Stopping {
		t.Errorf("%v", a.Reason)
	}
}

// Who waits and gives up makes space for the next one.
func TestLeaseCancel(t *testing.T) {
	w := newWorld(t)
	w.ask(1, Acquire, "x", "a", 0)
	w.pass(soon)
	b := w.ask(1, Acquire, "x", "b", time.Minute)
	c := w.ask(1, Acquire, "x", "c", time.Minute)
	w.nodes[1].give(w.now, Event{Cancel: b})
	w.nodes[1].give(w.now, Event{Cancel: 999})
	w.pass(1100 * time.Millisecond)
	w.want(b, NotApplied)
	w.want(c, Done)
}

// Who gives up while its turn is being tried is not tried for again.
func TestLeaseCancelDuringATry(t *testing.T) {
	w := newWorld(t)
	w.ask(1, Acquire, "x", "a", 0)
	w.pass(soon)
	b := w.ask(2, Acquire, "x", "b", time.Minute)
	q := w.nodes[2].queues.byName[named.Name{'x'}]
	w.nodes[2].queues.wake(q, w.now)
	w.nodes[2].give(w.now)
	w.collect(2)
	w.nodes[2].give(w.now, Event{Cancel: b})
	w.pass(soon)
	if a, ok := w.answers[b]; !ok || a.Outcome == Done {
		t.Fatalf("%v %+v", ok, a)
	}
	w.pass(2 * time.Second)
	if r, live := w.nodes[1].Live(w.now, named.Name{'x'}); live {
		t.Errorf("it was given a lease: %+v", r)
	}
}

// An answer of "not applied" is for a request none of whose attempts had Accept out.
func TestWhatWasAskedOnceIsUnknown(t *testing.T) {
	w := newWorld(t)
	id := w.ask(1, Acquire, "x", "a", 0)
	w.nodes[1].tasks[id].asked = true // an attempt before this one
	w.cut[1] = true
	w.pass(3 * time.Second)
	w.want(id, Unknown)
}

// A node that stops says "not applied" only of what no acceptor can have accepted. With Accept out, in this attempt or
// in an earlier one, and for a release, it does not know.
func TestAStoppingNodeSaysWhatItCannotKnow(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(w *world) uint64
		want Outcome
	}{
		{"Prepare is out", func(w *world) uint64 {
			id := w.ask(1, Acquire, "x", "a", 0)
			w.pass(delay + delay/2)
			return id
		}, NotApplied},
		{"Accept is out", func(w *world) uint64 {
			id := w.ask(1, Acquire, "x", "a", 0)
			w.pass(2*delay + delay/2)
			return id
		}, Unknown},
		{"Accept was out in the attempt before", func(w *world) uint64 {
			id := w.ask(1, Acquire, "x", "a", 0)
			w.pass(2*delay + delay/2)
			w.refuseAccept(1, id)
			w.cut[2], w.cut[3] = true, true
			w.pass(soon) // the next attempt has begun, and has no promises
			if task := w.nodes[1].tasks[id]; task.counter == 0 || task.attempt.Phase() != named.Preparing {
				w.t.Fatal("no other attempt is under way")
			}
			return id
		}, Unknown},
		{"a release is out", func(w *world) uint64 { return w.ask(1, Release, "x", "a", 0) }, Unknown},
		{"it waits for its turn", func(w *world) uint64 {
			w.ask(2, Acquire, "x", "b", 0)
			w.pass(soon)
			return w.ask(1, Acquire, "x", "a", time.Minute)
		}, NotApplied},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			id := c.ask(w)
			if _, answered := w.answers[id]; answered {
				t.Fatal("it is answered already")
			}
			w.nodes[1].give(w.now, Event{Stop: true})
			w.collect(1)
			if a := w.want(id, c.want); a.Reason != Stopping {
				t.Errorf("because of %v", a.Reason)
			}
		})
	}
}

// A request whose first attempt had Accept out ends as unknown, whatever the next attempt fails of: some acceptor may
// have accepted the first one.
func TestWhatWasAskedOnceIsUnknownForAnyReason(t *testing.T) {
	for _, asked := range []bool{true, false} {
		w := newWorld(t)
		id := w.ask(1, Acquire, "x", "a", 0)
		if asked {
			w.pass(2*delay + delay/2)
			w.refuseAccept(1, id)
			w.cut[2], w.cut[3] = true, true
			w.pass(soon)
		}
		for n := ballot.NodeID(2); n <= 3; n++ {
			b := Batch{To: 1, For: w.runs[1], Replies: []named.Reply{{Kind: named.PrepareRejected, Name: named.Name{'x'},
				Counter: w.nodes[1].tasks[id].counter, Full: true}}}
			w.nodes[1].give(w.now, Event{Batch: &b, From: w.runs[n]})
		}
		w.collect(1)
		want := NotApplied
		if asked {
			want = Unknown
		}
		if a := w.want(id, want); a.Reason != NoSpace {
			t.Errorf("asked before: %v, because of %v", asked, a.Reason)
		}
	}
}

// The same goes for a request whose client has gone between two attempts.
func TestWhatWasAskedOnceIsUnknownWhenCancelled(t *testing.T) {
	w := newWorld(t)
	id := w.ask(1, Acquire, "x", "a", 0)
	w.pass(2*delay + delay/2)
	w.refuseAccept(1, id)
	w.nodes[1].give(w.now, Event{Cancel: id})
	w.collect(1)
	w.want(id, Unknown)
}

// refuseAccept has the voters other than n refuse the Accept of n's request, so that its attempt ends and another is
// due.
func (w *world) refuseAccept(n ballot.NodeID, id uint64) {
	w.t.Helper()
	task := w.nodes[n].tasks[id]
	counter := task.counter
	if task.attempt.Phase() != named.Accepting {
		w.t.Fatal("no Accept is out")
	}
	w.wire = nil
	for other := ballot.NodeID(1); other <= 3; other++ {
		if other != n {
			b := Batch{To: n, For: w.runs[n], Replies: []named.Reply{{Kind: named.AcceptRejected, Name: task.req.Name,
				Counter: counter, Promised: counter + 1}}}
			w.nodes[n].give(w.now, Event{Batch: &b, From: w.runs[other]})
		}
	}
	w.collect(n)
	if task.counter == counter {
		w.t.Fatal("the attempt goes on")
	}
}

// Timers of requests that were answered before their time do not pile up, and waiting requests leave space for
// renewals.
func TestLeaseTimersAndWaitersAreBounded(t *testing.T) {
	w := newWorld(t)
	for i := range 3 * timersFloor {
		who := fmt.Sprint("c", i)
		w.ask(1, Acquire, "x", who, 10*time.Minute)
		w.pass(soon)
		w.ask(1, Release, "x", who, 0)
		w.pass(soon)
	}
	if n := len(w.nodes[1].timers.list); n > timersFloor+timersPerTask {
		t.Errorf("%d timers for %d tasks", n, len(w.nodes[1].tasks))
	}
	w.ask(1, Acquire, "x", "owner", 0)
	w.pass(soon)
	var last uint64
	for i := range 60 {
		last = w.ask(1, Acquire, "x", fmt.Sprint("w", i), time.Minute)
	}
	if a := w.want(last, NotApplied); a.Reason != Overloaded {
		t.Errorf("%v", a.Reason)
	}
	id := w.ask(1, Renew, "x", "owner", 0)
	w.pass(soon)
	w.want(id, Done)
}

// Replies to a run before mean nothing.
func TestRepliesToAnEarlierRunAreDropped(t *testing.T) {
	w := newWorld(t)
	w.ask(1, Acquire, "x", "a", 0)
	w.pass(delay + delay/2)
	w.boot(1, 2, time.Second)
	w.nodes[1].give(w.now, Event{Era: 2})
	id := w.ask(1, Acquire, "x", "b", 0) // under the same counter
	late := slices.Clone(w.wire)
	w.wire = nil
	promises := 0
	for _, l := range late {
		for n := ballot.NodeID(2); n <= 3 && l.batch.To == 1; n++ { // the other one's promise would say the same
			w.nodes[1].give(w.now, Event{Batch: &l.batch, From: w.runs[n]})
			w.collect(1)
			promises += len(l.batch.Replies)
		}
	}
	if t1 := w.nodes[1].tasks[id]; promises != 2 || t1 == nil || t1.attempt.Phase() != named.Preparing {
		t.Error("promises to the run before have moved this one's attempt")
	}
}
