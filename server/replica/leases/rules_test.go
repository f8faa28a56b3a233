package leases

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
)

// reply has another node answer what is under way for a request.
func (w *world) reply(n, from ballot.NodeID, id uint64, r named.Reply) {
	w.t.Helper()
	task := w.nodes[n].tasks[id]
	if task == nil {
		w.t.Fatalf("request %d is answered already: %+v", id, w.answers[id])
	}
	r.Name, r.Counter = task.req.Name, task.counter
	b := Batch{To: n, For: w.runs[n], Replies: []named.Reply{r}}
	w.nodes[n].give(w.now, Event{Batch: &b, From: ballot.Incarnation{Node: from, Restart: 1,
		Nonce: uint64(from)*100 + 1}})
	w.collect(n)
}

// The renewal of an ended lease finds it gone. It must not acquire the lease anew, since its owner would believe that
// it has owned it all the time.
func TestARenewalOfAnEndedLeaseFindsItGone(t *testing.T) {
	w := newWorld(t)
	w.want(acquired(w, "x", soon), Done)
	w.pass(3 * testTTL)
	id := w.ask(2, Renew, "x", "a", 0)
	w.pass(soon)
	w.want(id, Gone)
	if l, live := w.nodes[1].Live(w.now, named.Name{'x'}); live {
		t.Errorf("it is held again: %+v", l)
	}
	id = w.ask(2, Renew, "never", "a", 0)
	w.pass(soon)
	w.want(id, Gone)
}

// N2: the next attempt of a request takes a token above all that the ones before were told of, also if those who answer
// now know of less.
func TestN2TheNextAttemptKnowsWhatTheLastWasTold(t *testing.T) {
	w := newWorld(t)
	w.cut[1] = true
	id := w.ask(1, Acquire, "x", "a", 0)
	const told = named.Token(1<<32 + 500)
	w.reply(1, 2, id, named.Reply{Kind: named.PrepareRejected, Promised: 9, Report: told})
	w.reply(1, 3, id, named.Reply{Kind: named.PrepareRejected, Promised: 7, Report: told - 100})
	w.pass(soon)
	if c := w.nodes[1].tasks[id].counter; c <= 9 {
		t.Errorf("T4: the next attempt is number %d", c)
	}
	w.reply(1, 2, id, named.Reply{Kind: named.Promise, Report: 1 << 32}) // and so has the own node
	w.reply(1, 2, id, named.Reply{Kind: named.Accepted})
	if a := w.want(id, Done); a.Token <= told {
		t.Errorf("token %v after a report of %v", a.Token, told)
	}
	if w.nodes[1].highest <= told {
		t.Errorf("the largest token seen is %v", w.nodes[1].highest)
	}
}

// N3: a run asks for an era when it has none, and when half of the newest is used.
func TestN3AnEraIsAskedForInTime(t *testing.T) {
	w := newWorld(t)
	w.boot(1, 2, 0)
	if !w.nodes[1].needsEra() {
		t.Error("a run without an era asks for none")
	}
	w.nodes[1].give(w.now, Event{Era: 2})
	if w.nodes[1].needsEra() {
		t.Error("a new era is not enough")
	}
	for _, c := range []struct {
		token named.Token
		want  bool
	}{{2<<32 + 1<<31 - 2, false}, {2<<32 + 1<<31 + 1, true}, {1<<32 + 1<<31 + 1, false}, {3<<32 + 1<<31 + 1,
		true}, {3<<32 + 5, false}} {
		w.nodes[1].highest = c.token
		if got := w.nodes[1].needsEra(); got != c.want {
			t.Errorf("with token %v in use: %v", c.token, got)
		}
	}
}

// A release is done when a quorum of voters has confirmed it, each once, and is sent again until then.
func TestAReleaseIsConfirmedByAQuorum(t *testing.T) {
	w := newWorld(t)
	w.cut[1] = true
	w.ask(1, Acquire, "x", "a", 0)
	w.pass(3 * time.Second)
	id := w.ask(1, Release, "x", "a", 0) // confirmed by the own node at once
	w.reply(1, 2, id, named.Reply{Kind: named.Promise})
	w.reply(1, 4, id, named.Reply{Kind: named.Released})
	if a, done := w.answers[id]; done {
		t.Fatalf("a promise and a stranger confirm a release: %+v", a)
	}
	w.cut[1] = false
	w.pass(resendEvery + soon)
	w.want(id, Done)
}

// A node whose clock cannot be trusted neither votes nor grants a lease, and still releases one.
func TestAClockThatCannotBeTrustedTakesNoPart(t *testing.T) {
	w := newWorld(t)
	w.want(w.acquired("x"), Done)
	w.nodes[1].distrusted = true
	if a := w.want(w.acquired("y"), NotApplied); a.Reason != Distrusted {
		t.Errorf("%+v", a)
	}
	id := w.ask(1, Release, "x", "a", 0)
	w.nodes[1].distrusted = false // its answers come
	w.pass(soon)
	w.want(id, Done)
	w.nodes[2].distrusted, w.nodes[3].distrusted = true, true
	if a := w.answers[w.acquired("y")]; a.Outcome == Done {
		t.Errorf("granted by nodes that take no part: %+v", a)
	}
}

// acquired asks node 1 for a lease, and lets the time pass within which that is answered.
func (w *world) acquired(name string) uint64 {
	id := w.ask(1, Acquire, name, "a", 0)
	w.pass(3 * time.Second)
	return id
}

// A reply about another name says nothing about this one, whatever its counter.
func TestRepliesAboutAnotherNameAreDropped(t *testing.T) {
	w := newWorld(t)
	w.cut[1] = true
	id := w.ask(1, Release, "x", "a", 0)
	b := Batch{To: 1, For: w.runs[1], Replies: []named.Reply{{Kind: named.Released, Name: named.Name{'y'},
		Counter: w.nodes[1].tasks[id].counter}}}
	w.nodes[1].give(w.now, Event{Batch: &b, From: w.runs[2]})
	w.collect(1)
	if a, done := w.answers[id]; done {
		t.Fatalf("%+v", a)
	}
}

// A3: what a failed attempt left behind is withdrawn everywhere, the own acceptor included.
func TestA3WhatFailedIsWithdrawnEverywhere(t *testing.T) {
	w := newWorld(t)
	w.cut[2], w.cut[3] = true, true
	id := w.ask(1, Acquire, "x", "a", 0)
	w.nodes[1].tasks[id].req.Until = 0 // it is not tried again
	w.reply(1, 2, id, named.Reply{Kind: named.Promise})
	if _, live := w.nodes[1].Live(w.now, named.Name{'x'}); !live {
		t.Fatal("the own acceptor has not accepted")
	}
	w.reply(1, 2, id, named.Reply{Kind: named.AcceptRejected, Promised: 9})
	w.cut[2], w.cut[3] = false, false
	w.wire = nil
	task := w.nodes[1].tasks[id]
	b := Batch{To: 1, For: w.runs[1], Replies: []named.Reply{{Kind: named.AcceptRejected, Name: task.req.Name,
		Counter: task.counter, Promised: 9}}}
	w.nodes[1].give(w.now, Event{Batch: &b, From: w.runs[3]})
	batches, _ := w.nodes[1].sent()
	withdrawn := map[ballot.NodeID]bool{}
	for _, b := range batches {
		for _, q := range b.Requests {
			if q.Kind == named.Withdraw && q.Name == task.req.Name && q.Acquisition == task.req.Acquisition {
				withdrawn[b.To] = true
			}
		}
	}
	if len(withdrawn) != 2 || withdrawn[1] {
		t.Errorf("withdrawn at %v", withdrawn)
	}
	if l, live := w.nodes[1].Live(w.now, named.Name{'x'}); live {
		t.Errorf("the own acceptor keeps %+v", l)
	}
}

// A node does not run with a configuration under which it may not.
func TestLeasesRefuseBadConfigurations(t *testing.T) {
	good := newWorld(t).nodes[1].cfg
	if l, err := New(good, time.Minute); err != nil || l == nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no tasks":  func(c *Config) { c.MaxTasks = 0 },
		"no table":  func(c *Config) { c.Table.MaxRecords = 0 },
		"bad drift": func(c *Config) { c.Table.Timing.DriftPPM = -1 },
	} {
		bad := good
		change(&bad)
		if l, err := New(bad, time.Minute); err == nil || l != nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
}

// Status is what operators see.
func TestLeasesStatus(t *testing.T) {
	w := newWorld(t)
	w.boot(1, 2, time.Second)
	if s := w.nodes[1].Status(w.now); s.Opened || s.QuarantineLeft != time.Second || s.Records != 0 {
		t.Errorf("after a restart: %+v", s)
	}
	w = newWorld(t)
	w.want(acquired(w, "x", soon), Done)
	w.ask(1, Acquire, "x", "b", time.Minute)
	w.cut[1] = true
	w.ask(1, Acquire, "y", "c", 0)
	if s := w.nodes[1].Status(w.now); !s.Opened || s.QuarantineLeft != 0 || s.Records < 1 || s.Floor == 0 ||
		s.Attempts != 1 || s.Waiting != 1 {
		t.Errorf("%+v", s)
	}
}

// Nodes draw their random waits differently, or they would duel for ever; also one whose seed is 0.
func TestNodesDrawDifferently(t *testing.T) {
	cfg := newWorld(t).nodes[1].cfg
	seen := map[time.Duration]uint64{}
	for _, seed := range []uint64{0, 2, 4, 6} {
		cfg.Seed = seed
		l, err := New(cfg, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		first, second := l.pauses.random.Below(1<<62), l.pauses.random.Below(1<<62)
		if other, same := seen[first]; same || first == second {
			t.Errorf("seed %d draws %v, %v; as seed %d", seed, first, second, other)
		}
		seen[first] = seed
	}
}
