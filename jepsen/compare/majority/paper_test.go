package majority

import (
	"errors"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

const ms = time.Millisecond

// Votes of 8 ms, clocks that err by at most 1 %, a margin of 1 ms: an acceptor's time is 10 ms.
var timing = lease.Timing{MaxMaster: 8 * ms, MaxUser: 8 * ms, DriftPPM: 10_000, Margin: ms}

// world is three acceptors, nodes 1 to 3, and as many proposers, nodes 11 to 13, on one clock. Replies arrive at once.
type world struct {
	t         testing.TB
	now       time.Duration
	proposers map[ballot.NodeID]*Proposer
	acceptors map[ballot.NodeID]*Acceptor
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, now: 100 * ms, proposers: map[ballot.NodeID]*Proposer{}, acceptors: map[ballot.NodeID]*Acceptor{}}
	for i := ballot.NodeID(1); i <= 3; i++ {
		w.boot(i, 0)
		p, err := NewProposer(ProposerConfig{
			Self: ballot.Incarnation{Node: 10 + i, Nonce: 1}, Duration: 8 * ms, Voters: quorum.Of(1, 2,
				3), Timing: timing,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.proposers[10+i] = p
	}
	return w
}

func (w *world) boot(id ballot.NodeID, silent time.Duration) {
	a, err := NewAcceptor(AcceptorConfig{Self: id, Timing: timing, Silent: silent})
	if err != nil {
		w.t.Fatal(err)
	}
	w.acceptors[id] = a
}

// deliver takes those of the requests that are for these acceptors there, and the replies back.
func (w *world) deliver(sent []Message, to ...ballot.NodeID) (last Message) {
	for _, id := range to {
		for _, m := range sent {
			if m.To != id {
				continue
			}
			if reply, ok := w.acceptors[id].Handle(w.now, m); ok {
				w.proposers[m.From].Handle(w.now, reply)
				last = reply
			}
		}
	}
	return last
}

func (w *world) owns(id ballot.NodeID) bool {
	_, held := w.proposers[id].Held(w.now)
	return held
}

// §1: "proposers start local timeouts for T seconds and send requests". V1: the timer counts from before the requests,
// which go to all.
func TestV1Request(t *testing.T) {
	w := newWorld(t)
	sent := w.proposers[11].Start(w.now)
	if len(sent) != 3 || sent[0].Duration != 8*ms || sent[0].Request != sent[2].Request || !w.proposers[11].Busy() {
		t.Fatalf("sent %v", sent)
	}
	w.deliver(sent, 1)
	w.now += 5 * ms
	w.deliver(sent, 2)
	if until, ok := w.proposers[11].Held(w.now); !ok || until != 108*ms {
		t.Fatalf("owns until %v, %v", until, ok)
	}
	if w.proposers[11].Start(w.now) != nil {
		t.Fatal("there is no renewal")
	}
	again := w.proposers[11].Start(108 * ms)
	if len(again) != 3 || again[0].Request == sent[0].Request {
		t.Fatalf("sent %v after %v", again, sent)
	}
}

// §1: "The acceptors, upon receiving the request, start a timer for T seconds and send an accept message … if its state
// is not empty … a reject message". V2: the vote stands for its whole time, for one request.
func TestV2Vote(t *testing.T) {
	w := newWorld(t)
	first, second := w.proposers[11].Start(w.now), w.proposers[12].Start(w.now)
	if m := w.deliver(first, 1); m.Kind != KindAccept {
		t.Fatalf("empty, and says %v", m)
	}
	w.now += 9 * ms
	if m := w.deliver(first, 1); m.Kind != KindAccept {
		t.Fatalf("a repeated request gets %v", m)
	}
	if _, left, ok := w.acceptors[1].Vote(w.now); !ok || left != 1*ms {
		t.Fatalf("its repetition left %v, %v", left, ok)
	}
	if m := w.deliver(second, 1); m.Kind != KindReject {
		t.Fatalf("not empty, and says %v", m)
	}
	w.now += 1 * ms
	if m := w.deliver(second, 1); m.Kind != KindAccept {
		t.Fatalf("empty again, and says %v", m)
	}
	long := second[1]
	long.Duration = 9 * ms
	if m := w.deliver([]Message{long}, 2); m.Kind != KindReject {
		t.Fatalf("a request for longer than M gets %v", m)
	}
}

// §1: "the proposer must receive accept messages from a majority of acceptors; then it has the lease until its local
// timer expires". V3: distinct acceptors, of this very request, in time.
func TestV3Own(t *testing.T) {
	w := newWorld(t)
	old := w.proposers[11].Start(w.now)
	accept, _ := w.acceptors[3].Handle(w.now, old[2])
	w.now += 8 * ms
	sent := w.proposers[11].Start(w.now)
	if w.proposers[11].Handle(w.now, accept); w.proposers[11].votes.Len() != 0 {
		t.Fatal("counted the vote of an older request")
	}
	w.deliver(sent, 1, 1, 1)
	if w.owns(11) {
		t.Fatal("counted messages, not acceptors")
	}
	late := w.proposers[11].Clone()
	w.deliver(sent, 2)
	if !w.owns(11) || w.proposers[11].Last() != EndWon {
		t.Fatal("does not own")
	}
	w.now += 8*ms - 1
	if !w.owns(11) {
		t.Fatal("owns for too short")
	}
	w.now++
	if w.owns(11) {
		t.Fatal("owns when its timer has ended")
	}
	late.Handle(w.now, Message{Kind: KindAccept, From: 2, To: 11, Request: sent[0].Request})
	if _, ok := late.Held(w.now); ok || late.Last() != EndExpired {
		t.Fatal("a late vote owns")
	}
}

// §3: "nodes wait M seconds before rejoining the network". V4: an acceptor that lost its vote keeps silent for as long
// as a vote can count.
func TestV4Restart(t *testing.T) {
	w := newWorld(t)
	wait, err := timing.Quarantine()
	if err != nil || wait != 10*ms {
		t.Fatalf("%v, %v", wait, err)
	}
	w.boot(1, w.now+wait)
	w.now += wait - 1
	sent := w.proposers[11].Start(w.now)
	if m := w.deliver(sent, 1); m.Kind != 0 || w.acceptors[1].SilentFor(w.now) != 1 {
		t.Fatalf("said %v in its silence", m)
	}
	w.now++
	if m := w.deliver(sent, 1); m.Kind != KindAccept {
		t.Fatalf("said %v", m)
	}
}

// §1: "A accepts 1's request, B 2's and C 3's, then no proposer has a majority. The system must wait until the timeouts
// expire".
func TestThreeProposersBlockEachOther(t *testing.T) {
	w := newWorld(t)
	for i := ballot.NodeID(1); i <= 3; i++ {
		w.deliver(w.proposers[10+i].Start(w.now), i)
	}
	for ; w.now < 110*ms; w.now += ms {
		for id, p := range w.proposers {
			w.deliver(p.Resend(w.now), 1, 2, 3)
			if w.deliver(p.Start(w.now), 1, 2, 3); w.owns(id) {
				t.Fatalf("%d owns at %v", id, w.now)
			}
		}
	}
	if w.deliver(w.proposers[12].Start(w.now), 1, 2, 3); !w.owns(12) {
		t.Fatal("still blocked when the votes have run out")
	}
}

func TestConfigurationThatIsRefused(t *testing.T) {
	for name, c := range map[string]ProposerConfig{
		"no node":   {Duration: ms, Voters: quorum.Of(1), Timing: timing},
		"no voters": {Self: ballot.Incarnation{Node: 1}, Duration: ms, Timing: timing},
		"T over M":  {Self: ballot.Incarnation{Node: 1}, Duration: 9 * ms, Voters: quorum.Of(1), Timing: timing},
		"no timing": {Self: ballot.Incarnation{Node: 1}, Duration: ms, Voters: quorum.Of(1)},
	} {
		if _, err := NewProposer(c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for name, c := range map[string]AcceptorConfig{"no node": {Timing: timing}, "no timing": {Self: 1}} {
		if _, err := NewAcceptor(c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// What no node of this protocol sends is dropped unseen.
func TestMalformedMessagesChangeNothing(t *testing.T) {
	w := newWorld(t)
	good := w.proposers[11].Start(w.now)[0]
	for name, change := range map[string]func(*Message){
		"kind 0":       func(m *Message) { m.Kind = 0 },
		"unknown kind": func(m *Message) { m.Kind = 4 },
		"nobody":       func(m *Message) { m.From = 0 },
		"no request":   func(m *Message) { m.Request = ballot.Ballot{} },
		"no time":      func(m *Message) { m.Duration = 0 },
	} {
		m := good
		change(&m)
		if !errors.Is(m.Check(), ErrMalformed) {
			t.Errorf("%s: %v", name, m.Check())
		}
		if _, ok := w.acceptors[1].Handle(w.now, m); ok {
			t.Errorf("%s: answered", name)
		}
	}
}

// The same schedule, begun at different readings of the clock, gives the same bytes at every step, and different steps
// different ones.
func TestStateIsRelativeToNow(t *testing.T) {
	play := func(begin time.Duration) (out []string) {
		w := newWorld(t)
		w.now = begin
		note := func() {
			buf := w.proposers[11].AppendState(nil, w.now)
			for i := ballot.NodeID(1); i <= 3; i++ {
				buf = w.acceptors[i].AppendState(buf, w.now)
			}
			out = append(out, string(buf))
		}
		note()
		w.boot(3, w.now+10*ms)
		note()
		sent := w.proposers[11].Start(w.now)
		note()
		w.deliver(sent, 1)
		note()
		w.now += ms
		note()
		w.deliver(sent, 2)
		note()
		w.now += 8 * ms
		note()
		return out
	}
	a, b := play(100*ms), play(5*time.Hour)
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("step %d differs", i)
		}
		for j := range i {
			if a[i] == a[j] {
				t.Errorf("steps %d and %d look the same", i, j)
			}
		}
	}
}

func TestCloneIsIndependent(t *testing.T) {
	w := newWorld(t)
	before := string(w.acceptors[1].AppendState(w.proposers[11].AppendState(nil, w.now), w.now))
	p, a := w.proposers[11].Clone(), w.acceptors[1].Clone()
	a.Handle(w.now, p.Start(w.now)[0])
	if after := string(w.acceptors[1].AppendState(w.proposers[11].AppendState(nil, w.now), w.now)); after != before {
		t.Fatal("a clone shares its state")
	}
}
