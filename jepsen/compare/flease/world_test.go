package flease

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

const ms = time.Millisecond

// The proposers' node ids; the acceptors are nodes 1 to 3.
const (
	p ballot.NodeID = 11
	q ballot.NodeID = 12
)

// tiny is the configuration of the schedules: leases of 8 ms, clocks apart by 2 ms at most.
var tiny = Config{Voters: quorum.Of(1, 2, 3), Lease: 8 * ms, Skew: 2 * ms}

// world plays a schedule by hand: requests wait in sent until the schedule delivers them, any number of times; replies
// are delivered at once. Each process's clock is ahead of now by its skew. After every step at most one proposer may
// own.
type world struct {
	t         testing.TB
	now       time.Duration
	skew      map[ballot.NodeID]time.Duration
	proposers map[ballot.NodeID]*Proposer
	acceptors map[ballot.NodeID]*Acceptor
	sent      []Message
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, now: 100 * ms, skew: map[ballot.NodeID]time.Duration{}, proposers: map[ballot.NodeID]*Proposer{},
		acceptors: map[ballot.NodeID]*Acceptor{}}
	for _, id := range []ballot.NodeID{p, q, 1, 2, 3} {
		w.boot(id, 0)
	}
	return w
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// boot starts a run of a process that keeps silent until its clock reads so much.
func (w *world) boot(id ballot.NodeID, silent time.Duration) {
	c := tiny
	c.Self, c.Silent = id, silent
	if id >= p {
		w.proposers[id] = must(NewProposer(c))
		return
	}
	w.acceptors[id] = must(NewAcceptor(c))
}

// restart has a process forget all and keep silent for as long as F7 says.
func (w *world) restart(id ballot.NodeID) {
	w.t.Helper()
	w.boot(id, w.clock(id)+tiny.RestartWait())
	w.check("restart")
}

func (w *world) clock(id ballot.NodeID) time.Duration { return w.now + w.skew[id] }

func (w *world) start(id ballot.NodeID) Ballot {
	w.t.Helper()
	w.sent = append(w.sent, w.proposers[id].Start(w.clock(id))...)
	w.check("start")
	return w.proposers[id].Attempt().Ballot
}

func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.now += d
	w.check("time")
}

// deliver takes the waiting request of this kind and ballot to some acceptors and their replies back. It returns the
// last reply.
func (w *world) deliver(k Kind, b Ballot, to ...ballot.NodeID) Message {
	w.t.Helper()
	var last Message
	for _, id := range to {
		reply, ok := w.acceptors[id].Handle(w.clock(id), w.find(k, b, id))
		last = reply
		if ok {
			w.sent = append(w.sent, w.proposers[b.Node].Handle(w.clock(b.Node), reply)...)
		}
		w.check(fmt.Sprintf("%v %v at %d", k, b, id))
	}
	return last
}

func (w *world) find(k Kind, b Ballot, to ballot.NodeID) Message {
	w.t.Helper()
	for i := len(w.sent) - 1; i >= 0; i-- {
		if m := w.sent[i]; m.Kind == k && m.Ballot == b && m.To == to {
			return m
		}
	}
	w.t.Fatalf("%v under %v to %d was never sent", k, b, to)
	return Message{}
}

func (w *world) owns(id ballot.NodeID) bool {
	_, held := w.proposers[id].Held(w.clock(id))
	return held
}

func (w *world) check(step string) {
	w.t.Helper()
	if w.owns(p) && w.owns(q) {
		w.t.Fatalf("%s at %v: two owners", step, w.now)
	}
}

// get is a whole GetLease with these acceptors; it returns how the attempt ended.
func (w *world) get(id ballot.NodeID, quorum ...ballot.NodeID) End {
	w.t.Helper()
	b := w.start(id)
	w.deliver(KindRead, b, quorum...)
	if w.proposers[id].Attempt().Phase == PhaseWriting {
		w.deliver(KindWrite, b, quorum...)
	}
	return w.proposers[id].Attempt().Last
}

func (w *world) mustGet(id ballot.NodeID, want End, quorum ...ballot.NodeID) {
	w.t.Helper()
	if got := w.get(id, quorum...); got != want {
		w.t.Fatalf("at %v, GetLease of %d: %v, want %v", w.now, id, got, want)
	}
	if want == EndWon && !w.owns(id) {
		w.t.Fatalf("%d has won and does not own", id)
	}
}
