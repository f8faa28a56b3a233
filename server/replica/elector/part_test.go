package elector

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/server/members"
)

// electors are the electors of nodes 1, 2, … that reach each other at once, unless a node is cut off.
type electors struct {
	t      *testing.T
	voters quorum.Set
	now    time.Duration
	nodes  map[ballot.NodeID]*driven
	order  []ballot.NodeID
	cut    map[ballot.NodeID]bool
	drop   func(m lease.Message) bool // of nodes that are not cut off; nil: none
	idle   map[ballot.NodeID]bool     // their loops do not run, and what is sent to them waits
	wait   map[ballot.NodeID][]lease.Message
	sent   func(from ballot.NodeID, m lease.Message)
}

func newElectors(t *testing.T, n int) *electors {
	w := &electors{t: t, now: time.Minute, nodes: map[ballot.NodeID]*driven{}, cut: map[ballot.NodeID]bool{},
		idle: map[ballot.NodeID]bool{}, wait: map[ballot.NodeID][]lease.Message{}, sent: func(ballot.NodeID,
			lease.Message) {
		}}
	var voters quorum.Set
	for i := range n {
		w.order = append(w.order, ballot.NodeID(i+1))
		voters.Add(ballot.NodeID(i + 1))
	}
	w.voters = voters
	for _, id := range w.order {
		w.restart(id, 0)
	}
	return w
}

// restart puts a new elector in the place of node id's, which is silent until that reading.
func (w *electors) restart(id ballot.NodeID, silentUntil time.Duration) {
	w.t.Helper()
	e, err := New(Config{
		Self: incarnation(id), Voters: w.voters, Timing: testTiming, Duration: testLease, Seed: uint64(id),
		Acceptor: lease.AcceptorConfig{Self: id, Timing: testTiming, SilentUntil: silentUntil},
	}, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.nodes[id] = drive(e)
}

func incarnation(id ballot.NodeID) ballot.Incarnation {
	return ballot.Incarnation{Node: id, Restart: 1, Nonce: 40 + uint64(id)}
}

// run lets time pass in steps of a millisecond until cond holds.
func (w *electors) run(what string, most time.Duration, cond func() bool) {
	w.t.Helper()
	for end := w.now + most; !cond(); w.now += time.Millisecond {
		if w.now > end {
			w.t.Fatalf("not within %v: %s", most, what)
		}
		for _, id := range w.order {
			if !w.idle[id] {
				w.step(id)
			}
		}
		w.deliver()
	}
}

// step lets a node take what waits for it, message by message, and then what is due.
func (w *electors) step(id ballot.NodeID) {
	for _, m := range w.wait[id] {
		w.nodes[id].hear(w.now, m)
	}
	w.wait[id] = nil
	w.nodes[id].give(w.now, Event{})
}

func (w *electors) deliver() {
	for again := true; again; {
		again = false
		for _, id := range w.order {
			for _, m := range w.nodes[id].sent() {
				w.sent(id, m)
				switch again = true; {
				case w.cut[id] || w.cut[m.To] || w.drop != nil && w.drop(m):
				case w.idle[m.To]:
					w.wait[m.To] = append(w.wait[m.To], m)
				default:
					w.nodes[m.To].hear(w.now, m)
				}
			}
		}
	}
}

func (w *electors) owner() ballot.NodeID {
	for _, id := range w.order {
		if !w.cut[id] && w.nodes[id].State(w.now).Tenure != 0 {
			return id
		}
	}
	return 0
}

// P7: the ballot of every Accept is noted when the runner takes the message, in the first attempt and in each renewal;
// after an orderly release nothing is.
func TestP7EveryAcceptIsNotedBeforeItLeaves(t *testing.T) {
	w := newElectors(t, 3)
	accepts := map[ballot.Ballot]bool{}
	w.sent = func(from ballot.NodeID, m lease.Message) {
		if m.Kind != lease.KindAccept {
			return
		}
		accepts[m.Ballot] = true
		if noted := w.nodes[from].AppendNoted(nil, w.now); !slices.Contains(noted, m.Ballot.Counter) {
			t.Errorf("%v leaves, noted are %v", m, noted)
		}
	}
	w.run("ten ballots", time.Minute, func() bool { return len(accepts) >= 10 })
	id := w.owner()
	w.nodes[id].releases(w.now, time.Second, CauseStopping)
	if noted := w.nodes[id].AppendNoted(nil, w.now); len(noted) > 0 {
		t.Errorf("released in order, noted are %v", noted)
	}
}

// P7: an attempt under a membership that this node has left ends as soon as it comes to its own acceptor. Its Accept
// does not leave for a voter of before, to whom no Release goes.
func TestP7NoAcceptLeavesBehindItsRelease(t *testing.T) {
	w := newElectors(t, 2)
	var promises []lease.Message
	w.drop = func(m lease.Message) bool {
		if m.Kind == lease.KindPromise {
			promises = append(promises, m)
		}
		return m.Kind == lease.KindPromise
	}
	w.run("a promise", time.Minute, func() bool { return len(promises) > 0 })
	p := promises[len(promises)-1]
	n := w.nodes[p.To]
	n.give(w.now, Event{Membership: &members.InForce{Number: 2, Voters: quorum.Of(p.To)}})
	n.sent()
	n.hear(w.now, p)
	for _, m := range n.sent() {
		if noted := n.AppendNoted(nil, w.now); m.Kind == lease.KindAccept && !slices.Contains(noted, m.Ballot.Counter) {
			t.Errorf("%v leaves, noted are %v", m, noted)
		}
	}
	w.drop = nil
	w.run("an owner of the new membership", time.Minute, func() bool { return n.State(w.now).Tenure != 0 })
}

// P7: after the report of a dead owner's guardian another node can own the lease at once, without waiting for it to run
// out. A report about this very node, or about an owner other than the recorded one, changes nothing.
func TestP7CrashReleaseIsAHintToo(t *testing.T) {
	w := newElectors(t, 3)
	w.run("an owner", time.Second, func() bool { return w.owner() != 0 })
	dead := w.owner()
	noted := w.nodes[dead].AppendNoted(nil, w.now)
	w.cut[dead] = true
	for _, id := range w.order {
		other := incarnation(dead)
		other.Restart++
		if w.nodes[id].hearCrash(w.now, other, noted) || w.nodes[id].hearCrash(w.now, incarnation(dead),
			[]uint64{noted[0] + 100}) ||
			w.nodes[id].hearCrash(w.now, incarnation(id), noted) {
			t.Fatalf("node %d has released what nobody may", id)
		}
	}
	for _, id := range w.order {
		if id != dead && !w.nodes[id].hearCrash(w.now, incarnation(dead), noted) {
			t.Errorf("node %d has released nothing", id)
		}
	}
	w.deliver()
	w.run("a successor", testLease/8, func() bool { return w.owner() != 0 })
	if next := w.owner(); next != dead%3+1 {
		t.Errorf("node %d owns; the next in the ring after %d should", next, dead)
	}
}

// A crash release that reaches one peer before the other must not make the first wait for the lease: the next round
// mends it.
func TestP7ALateReleaseMendsARefusal(t *testing.T) {
	w := newElectors(t, 3)
	w.run("an owner", time.Second, func() bool { return w.owner() != 0 })
	dead := w.owner()
	noted := w.nodes[dead].AppendNoted(nil, w.now)
	w.cut[dead] = true
	first, second := w.nodes[dead%3+1], w.nodes[(dead+1)%3+1]
	first.hearCrash(w.now, incarnation(dead), noted)
	refused := false
	w.sent = func(_ ballot.NodeID, m lease.Message) { refused = refused || m.Kind == lease.KindPromise && m.Live }
	w.run("a refusal", testLease/4, func() bool { return refused })
	second.hearCrash(w.now, incarnation(dead), noted)
	first.hearCrash(w.now, incarnation(dead), noted)
	w.deliver()
	w.run("a successor", testLease/4, func() bool { return w.owner() != 0 })
}

// A node that is told to stand back lets the other one try first, though its own try was due before: right after its
// start no lease of anybody's puts that off.
func TestStandBackPutsOffATryThatWasDue(t *testing.T) {
	for _, told := range []bool{false, true} {
		w := newElectors(t, 3)
		e, until := w.nodes[3], w.now+testLease/2
		if told {
			e.give(w.now, Event{StandBack: testLease / 2})
		}
		e.give(until-1, Event{})
		if tries := len(e.sent()) > 0; tries == told {
			t.Errorf("told to stand back: %v, tries before that is over: %v", told, tries)
		}
		e.give(until, Event{})
		if told && len(e.sent()) == 0 {
			t.Error("it does not try once that is over")
		}
	}
}

// A node that the master would like to see as the next one tries first, for as long as the hand-over may be under way:
// one that was given up does not put it before the others for ever.
func TestAHandOverThatWasGivenUpFavoursNobody(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		first bool
	}{{testLease / 2, true}, {testLease + time.Millisecond, false}} {
		w := newElectors(t, 3)
		w.run("an owner", time.Second, func() bool { return w.owner() != 0 })
		old := w.owner()
		second := (old+1)%3 + 1 // in the ring after the owner
		w.nodes[second].give(w.now, Event{Nudged: true})
		end := w.now + c.after
		w.run("the time since", testLease*2, func() bool { return w.now >= end })
		w.nodes[old].releases(w.now, testLease, CauseHandedOver)
		w.deliver()
		w.run("a successor", testLease, func() bool { return w.owner() != 0 && w.owner() != old })
		if got := w.owner() == second; got != c.first {
			t.Errorf("%v after the hint, node %d owns after node %d; the hint was for node %d", c.after, w.owner(), old, second)
		}
	}
}
