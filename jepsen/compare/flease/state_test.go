package flease

import (
	"errors"
	"testing"
	"time"

	"tenure/internal/ballot"
)

func (w *world) state() string {
	var buf []byte
	for _, id := range []ballot.NodeID{p, q} {
		buf = w.proposers[id].AppendState(buf, w.clock(id))
	}
	for id := ballot.NodeID(1); id <= 3; id++ {
		buf = w.acceptors[id].AppendState(buf, w.clock(id))
	}
	return string(buf)
}

// The same schedule, begun at different readings of the clock, gives the same bytes at every step, and different steps
// give different ones.
func TestStateIsRelativeToNow(t *testing.T) {
	play := func(begin time.Duration) []string {
		w := newWorld(t)
		w.now = begin
		var b Ballot
		out := []string{w.state()}
		for _, step := range []func(){
			func() { w.restart(3) },
			func() { b = w.start(p) },
			func() { w.deliver(KindRead, b, 1) },
			func() { w.deliver(KindRead, b, 2) },
			func() { w.deliver(KindWrite, b, 1) },
			func() { w.deliver(KindWrite, b, 2) },
			func() { w.pass(ms) },
			func() { b = w.start(q) },
			func() { w.deliver(KindRead, b, 2, 1) },
			func() { w.deliver(KindWrite, b, 2) },
			func() { w.pass(7 * ms) },
		} {
			step()
			out = append(out, w.state())
		}
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
	before := w.state()
	pr, ac := w.proposers[p].Clone(), w.acceptors[1].Clone()
	sent := pr.Start(w.now)
	ac.Handle(w.now, sent[0])
	if w.state() != before {
		t.Fatal("a clone shares its state")
	}
}

// What no process of this protocol sends is dropped unseen.
func TestMalformedMessagesChangeNothing(t *testing.T) {
	w := newWorld(t)
	b := w.start(p)
	good := w.find(KindRead, b, 1)
	before := w.state()
	for name, change := range map[string]func(*Message){
		"kind 0":             func(m *Message) { m.Kind = 0 },
		"unknown kind":       func(m *Message) { m.Kind = 7 },
		"nobody":             func(m *Message) { m.From = 0 },
		"ballot of nobody":   func(m *Message) { m.Ballot.Node = 0 },
		"negative time":      func(m *Message) { m.Ballot.Time = -1 },
		"WRITE of nothing":   func(m *Message) { m.Kind = KindWrite },
		"lease of no ballot": func(m *Message) { m.Kind, m.To, m.From, m.Lease = KindReadAck, p, 1, Lease{q, ms} },
		"endless lease":      func(m *Message) { m.Kind, m.Lease = KindWrite, Lease{q, 1<<63 - 1} },
	} {
		m := good
		change(&m)
		if !errors.Is(m.Check(), ErrMalformed) {
			t.Errorf("%s: %v", name, m.Check())
		}
		if _, ok := w.acceptors[1].Handle(w.now, m); ok {
			t.Errorf("%s: answered", name)
		}
		if w.proposers[p].Handle(w.now, m); w.state() != before {
			t.Errorf("%s: changed something", name)
		}
	}
	other := good
	other.To = 2
	if _, ok := w.acceptors[1].Handle(w.now, other); ok {
		t.Error("answered what was for somebody else")
	}
}

// Resend repeats what was not answered, and ends an attempt whose expiry has passed.
func TestResend(t *testing.T) {
	w := newWorld(t)
	if out := w.proposers[p].Resend(w.now); out != nil {
		t.Fatalf("resent %v", out)
	}
	b := w.start(p)
	w.deliver(KindRead, b, 2)
	if out := w.proposers[p].Resend(w.now); len(out) != 2 || out[0].To != 1 || out[1].To != 3 ||
		out[0].Kind != KindRead {
		t.Fatalf("resent %v", out)
	}
	w.deliver(KindRead, b, 1)
	if out := w.proposers[p].Resend(w.now); len(out) != 3 || out[0].Kind != KindWrite || out[0].Lease.Owner != p {
		t.Fatalf("resent %v", out)
	}
	w.pass(8 * ms)
	if out := w.proposers[p].Resend(w.now); out != nil || w.proposers[p].Attempt().Last != EndExpired {
		t.Fatalf("resent %v after the expiry", out)
	}
}
