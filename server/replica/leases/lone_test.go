package leases

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
)

// lone is node 1 of five, whose peers say only what a test has them say.
type lone struct {
	*driven
	t       *testing.T
	now     time.Duration
	answers map[uint64]Answer
	nextID  uint64
}

const (
	loneTasks = 10
	longWait  = 10 * time.Minute
)

// stolen is the live lease of somebody else, as replies show it.
var stolen = named.Reply{Report: 1<<32 + 3, Live: true, LiveAcquisition: named.Acquisition{'o'}, LiveToken: 1<<32 + 3,
	LiveLeft: 700 * time.Millisecond, LiveOwner: "other"}

func newLone(t *testing.T) *lone {
	t.Helper()
	n := &lone{t: t, now: time.Minute, answers: map[uint64]Answer{}}
	table := named.Config{SilentUntil: n.now, MaxRecords: 100, Linger: time.Second, Width: 100 * time.Millisecond}
	table.Timing = lease.Timing{MaxMaster: time.Second, MaxUser: 30 * time.Second, Margin: 10 * time.Millisecond}
	self := ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}
	l, err := New(Config{Self: self, Voters: quorum.Of(1, 2, 3, 4, 5), Table: table,
		MaxTasks: loneTasks, Seed: 1}, n.now)
	if err != nil {
		t.Fatal(err)
	}
	n.driven = drive(l)
	n.give(n.now, Event{Era: 1})
	return n
}

// ask makes a request of an acquisition named who. A Duration and an Until that are missing are filled in, but for
// releases.
func (n *lone) ask(r Request, name, who string) uint64 {
	n.nextID++
	r.ID = n.nextID
	copy(r.Name[:], name)
	copy(r.Acquisition[:], who)
	if r.Op != Release {
		r.Duration, r.Owner, r.Text = testTTL, who, name
	}
	if r.Until == 0 {
		r.Until = n.now + longWait
	}
	n.give(n.now, Event{Request: &r})
	return r.ID
}

func (n *lone) acquire(name, who string) uint64 {
	return n.ask(Request{Op: Acquire}, name, who)
}

// told returns the nodes to which something is sent now, and collects answers.
func (n *lone) told() []ballot.NodeID {
	n.t.Helper()
	batches, answers := n.sent()
	for _, a := range answers {
		if _, twice := n.answers[a.ID]; twice {
			n.t.Errorf("request %d is answered twice", a.ID)
		}
		n.answers[a.ID] = a
	}
	var to []ballot.NodeID
	for _, b := range batches {
		to = append(to, b.To)
	}
	slices.Sort(to)
	return to
}

func (n *lone) wantTold(when string, want ...ballot.NodeID) {
	n.t.Helper()
	if got := n.told(); !slices.Equal(got, want) {
		n.t.Errorf("%s: sent to %v at once, want %v", when, got, want)
	}
}

// toldFirst returns the two nodes that are asked at once, beside this one, and those that are not. Which they are is
// not fixed.
func (n *lone) toldFirst() (first, others []ballot.NodeID) {
	n.t.Helper()
	if first = n.told(); len(first) != 2 {
		n.t.Fatalf("asked at once: %v; with this node two others make a quorum", first)
	}
	for node := ballot.NodeID(2); node <= 5; node++ {
		if !slices.Contains(first, node) {
			others = append(others, node)
		}
	}
	return first, others
}

// reply has other nodes answer what is under way for a request. A rejection shows a higher promise.
func (n *lone) reply(id uint64, k named.Kind, r named.Reply, from ...ballot.NodeID) {
	n.t.Helper()
	task := n.tasks[id]
	if task == nil || task.counter == 0 {
		n.t.Fatalf("nothing is under way for request %d", id)
	}
	r.Kind, r.Name, r.Counter = k, task.req.Name, task.counter
	if k == named.PrepareRejected || k == named.AcceptRejected {
		r.Promised = task.counter + 1
	}
	for _, node := range from {
		n.hear(node, r)
	}
}

func (n *lone) hear(from ballot.NodeID, r named.Reply) {
	b := Batch{To: 1, For: n.cfg.Self, Replies: []named.Reply{r}}
	n.give(n.now, Event{Batch: &b, From: ballot.Incarnation{Node: from, Restart: 1, Nonce: 1}})
}

// later goes on to a later time without a stop.
func (n *lone) later(d time.Duration) {
	n.now += d
	n.give(n.now)
}

func (n *lone) underWay(id uint64) bool { return n.tasks[id] != nil && n.tasks[id].counter != 0 }

// unanswered fails if one of the requests has its answer.
func (n *lone) unanswered(when string, ids ...uint64) {
	n.t.Helper()
	n.told()
	for _, id := range ids {
		if a, done := n.answers[id]; done {
			n.t.Errorf("%s: request %d is answered: %+v", when, id, a)
		}
	}
}

func (n *lone) want(id uint64, o Outcome, why Reason) Answer {
	n.t.Helper()
	n.told()
	a, done := n.answers[id]
	if !done || a.Outcome != o || a.Reason != why {
		n.t.Fatalf("request %d: answered %v, %+v; want outcome %d because of %q", id, done, a, o, why)
	}
	return a
}
