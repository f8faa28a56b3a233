package lease

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

const ms = time.Millisecond

// tiny is the timing of the schedules: no drift, no margin, leases of a few milliseconds.
var tiny = Timing{MaxMaster: 2 * ms, MaxUser: 2 * ms}

// The proposers' node ids; the acceptors are nodes 1 to 3.
const (
	p ballot.NodeID = 11
	q ballot.NodeID = 12
)

// world plays a schedule by hand: requests wait in sent until the schedule delivers them, any number of times;
// replies are delivered at once. After every step at most one proposer may own.
type world struct {
	t         testing.TB
	now       time.Duration
	proposers map[ballot.NodeID]*Proposer
	acceptors map[ballot.NodeID]*Acceptor
	sent      []Message
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, proposers: map[ballot.NodeID]*Proposer{}, acceptors: map[ballot.NodeID]*Acceptor{}}
	for _, id := range []ballot.NodeID{p, q} {
		w.restartProposer(id, 0)
	}
	for id := ballot.NodeID(1); id <= 3; id++ {
		w.restartAcceptor(id, 0)
	}
	return w
}

func (w *world) restartProposer(id ballot.NodeID, restart uint64) {
	w.proposers[id] = must(NewProposer(ProposerConfig{
		Self:     ballot.Incarnation{Restart: restart, Node: id, Nonce: 100 + restart},
		Duration: 2 * ms, Voters: quorum.Of(1, 2, 3), Timing: tiny,
	}))
}

func (w *world) restartAcceptor(id ballot.NodeID, silence time.Duration) {
	w.acceptors[id] = must(NewAcceptor(AcceptorConfig{
		Self: id, Timing: tiny, SilentUntil: w.now + silence,
	}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// start is P1 under the ballot with this counter.
func (w *world) start(id ballot.NodeID, counter uint64, d time.Duration) {
	w.t.Helper()
	pr := w.proposers[id]
	pr.counter = counter - 1
	w.sent = append(w.sent, pr.StartFor(w.now, d)...)
	w.check("start")
}

// release is P6; the messages wait like all others.
func (w *world) release(id ballot.NodeID) {
	w.t.Helper()
	w.sent = append(w.sent, w.proposers[id].Release(w.now)...)
	w.check("release")
}

func (w *world) tick() {
	w.t.Helper()
	w.now += ms
	w.check("tick")
}

// deliver takes the waiting request of this kind, proposer and counter to some acceptors, and their replies back to the
// proposer that runs there now. It returns the last reply's kind, 0 if there was none.
func (w *world) deliver(k Kind, from ballot.NodeID, counter uint64, to ...ballot.NodeID) Message {
	w.t.Helper()
	var last Message
	for _, id := range to {
		reply, ok := w.acceptors[id].Handle(w.now, w.find(k, from, counter, id))
		last = reply
		if ok {
			w.sent = append(w.sent, w.proposers[from].Handle(w.now, reply)...)
		}
		w.check(fmt.Sprintf("%v %d@%d at %d", k, counter, from, id))
	}
	return last
}

func (w *world) find(k Kind, from ballot.NodeID, counter uint64, to ballot.NodeID) Message {
	w.t.Helper()
	for i := len(w.sent) - 1; i >= 0; i-- {
		if m := w.sent[i]; m.Kind == k && m.From == from && m.Ballot.Counter == counter && m.To == to {
			return m
		}
	}
	w.t.Fatalf("%v with counter %d from %d to %d was never sent", k, counter, from, to)
	return Message{}
}

func (w *world) check(step string) {
	w.t.Helper()
	owners := 0
	for _, pr := range w.proposers {
		if _, held := pr.Held(w.now); held {
			owners++
		}
	}
	if owners > 1 {
		w.t.Fatalf("%s at %v: two owners", step, w.now)
	}
}

func (w *world) owns(id ballot.NodeID) bool {
	_, held := w.proposers[id].Held(w.now)
	return held
}

func (w *world) live(id ballot.NodeID) (Record, bool) {
	return w.acceptors[id].Live(w.now)
}

// wantKind fails unless a reply is of this kind.
func wantKind(t testing.TB, m Message, k Kind) {
	t.Helper()
	if m.Kind != k {
		t.Fatalf("got %v, want %v", m, k)
	}
}

// win takes p through P1 to P4 with these acceptors.
func (w *world) win(id ballot.NodeID, counter uint64, d time.Duration, quorum ...ballot.NodeID) {
	w.t.Helper()
	w.start(id, counter, d)
	w.deliver(KindPrepare, id, counter, quorum...)
	w.deliver(KindAccept, id, counter, quorum...)
	if !w.owns(id) {
		w.t.Fatalf("%d does not own under counter %d", id, counter)
	}
}
