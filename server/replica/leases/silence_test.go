package leases

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
)

// After a restart of all nodes an acquisition is refused at once, with the time until a quorum of acceptors speaks
// again, however long it is willing to wait. Then it succeeds.
func TestSilenceOfAQuorumIsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	w.boot(1, 2, 9*time.Second)
	w.boot(2, 2, 5*time.Second)
	w.boot(3, 2, 7*time.Second)
	at := w.now
	a := w.ask(1, Acquire, "x", "a", 0)
	b := w.ask(2, Acquire, "x", "b", time.Minute)
	c := w.ask(3, Renew, "x", "c", 0)
	w.pass(soon + lingerMost)
	for _, id := range []uint64{a, b, c} {
		r := w.want(id, NotApplied)
		if r.Reason != Silent || r.RetryAfter > 9*time.Second || r.RetryAfter < 5*time.Second-2*soon {
			t.Errorf("request %d: %+v", id, r)
		}
	}
	w.now = at + time.Second
	d := w.ask(1, Acquire, "x", "d", 0) // it knows now, and asks nobody
	if r := w.want(d, NotApplied); r.RetryAfter > 6*time.Second+soon || r.RetryAfter < 4*time.Second {
		t.Errorf("%+v: two of three must speak", r)
	}
	w.now = at + 7*time.Second + soon
	for n := range w.nodes {
		w.nodes[n].give(w.now, Event{Era: 2})
	}
	e := w.ask(1, Acquire, "x", "e", 0)
	w.pass(soon + lingerMost)
	w.want(e, Done)
}

// A node that alone has restarted serves its clients by the others; so does one beside a node that keeps silent.
func TestOneSilentNodeRefusesNothing(t *testing.T) {
	w := newWorld(t)
	w.boot(1, 2, 5*time.Second)
	for _, n := range []ballot.NodeID{1, 2, 3, 1, 2, 3} {
		id := w.ask(n, Acquire, string(rune('a'+w.nextID)), "a", 0)
		w.pass(soon + lingerMost)
		w.want(id, Done)
	}
}

// What may have been accepted before the others fell silent is unknown, not refused.
func TestSilenceAfterAnAcceptIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.cut[3] = true
	a := w.ask(1, Acquire, "x", "a", 0)
	for w.nodes[1].tasks[a].attempt.Phase() != named.Accepting {
		w.pass(delay / 4)
	}
	w.boot(2, 2, 5*time.Second)
	w.pass(2 * delay)
	w.boot(3, 2, 5*time.Second)
	w.cut[3] = false
	w.pass(3 * resendEvery)
	if r := w.want(a, Unknown); r.Reason != Silent {
		t.Errorf("%+v", r)
	}
}

// N4: a lease that needs a longer bucket is granted when that is durable, by the resending of its Accept; shorter ones
// meanwhile.
func TestN4AnAttemptOutlivesTheWrite(t *testing.T) {
	w := newWorld(t)
	for n := range w.nodes {
		l, err := New(Config{Self: w.runs[n], Voters: quorum.Of(1, 2, 3), MaxTasks: 100, Seed: uint64(n),
			Table: named.Config{Timing: lease.Timing{MaxMaster: testTTL / 4, MaxUser: 30 * time.Second,
				Margin: 10 * time.Millisecond},
				Bucket: named.Bucket{Length: 256 * time.Millisecond,
					Quarantine: 266 * time.Millisecond}, MaxRecords: 100, Linger: time.Second, Width: 100 * time.Millisecond}}, w.now)
		if err != nil {
			t.Fatal(err)
		}
		w.nodes[n] = drive(l)
		w.nodes[n].give(w.now, Event{Era: 1})
	}
	long := w.ask(1, Acquire, "x", "a", 0)
	w.pass(soon)
	due := map[ballot.NodeID]named.Bucket{}
	for n, l := range w.nodes {
		if l.bucket != (named.Bucket{}) {
			due[n] = l.bucket
		}
		if _, live := l.Live(w.now, named.Name{'x'}); live {
			t.Errorf("node %d has accepted what its disk does not cover", n)
		}
	}
	if _, answered := w.answers[long]; answered || len(due) < 2 {
		t.Fatalf("answered %v, %d nodes ask for a bucket", answered, len(due))
	}
	for n, b := range due {
		w.nodes[n].give(w.now, Event{Bucket: b})
	}
	w.pass(resendEvery)
	w.want(long, Done)
}
