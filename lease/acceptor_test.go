package lease

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
)

func TestAcceptorConfigValidate(t *testing.T) {
	good := AcceptorConfig{Self: 1, Timing: tiny, MaxNames: 1}
	if _, err := NewAcceptor(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*AcceptorConfig){
		"no node":   func(c *AcceptorConfig) { c.Self = 0 },
		"no timing": func(c *AcceptorConfig) { c.Timing = Timing{} },
		"no room":   func(c *AcceptorConfig) { c.MaxNames = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := NewAcceptor(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAcceptorIgnoresWhatIsNotForIt(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, ms)
	good := w.find(KindPrepare, p, 1, 1)
	before := w.state(0)
	for name, change := range map[string]func(*Message){
		"another node": func(m *Message) { m.To = 2 },
		"malformed":    func(m *Message) { m.Class = ClassUser },
		"a reply":      func(m *Message) { m.Kind = KindPromise },
	} {
		m := good
		change(&m)
		if reply, ok := w.acceptors[1].Handle(0, m); ok || w.state(0) != before {
			t.Errorf("%s: %v", name, reply)
		}
	}
}

// user is a request of a user's name.
func user(k Kind, name string, counter uint64, node ballot.NodeID) Message {
	i := ballot.Incarnation{Restart: 1, Node: node, Nonce: 1}
	return Message{
		Kind: k, From: node, To: 1, Resource: name, Class: ClassUser,
		Ballot: ballot.New(counter, i), Owner: i, Duration: 2 * ms,
	}
}

func TestAcceptorKeepsNamesApart(t *testing.T) {
	a := newWorld(t).acceptors[1]
	for i, name := range []string{"c", "a", "b", "Master"} {
		m, _ := a.Handle(time.Duration(i), user(KindAccept, name, 1, ballot.NodeID(i+1)))
		wantKind(t, m, KindAccepted)
	}
	for i, name := range []string{"c", "a", "b", "Master"} {
		if r, ok := a.Live(4, name); !ok || r.Owner.Node != ballot.NodeID(i+1) || r.Left != 2*ms+time.Duration(i)-4 {
			t.Errorf("%s: %+v, %v", name, r, ok)
		}
	}
	if _, ok := a.Live(4, MasterResource); ok {
		t.Error("the master's record is another one")
	}
	if !slices.IsSortedFunc(a.names, func(x, y entry) int {
		if x.name < y.name {
			return -1
		}
		return 1
	}) {
		t.Errorf("out of order: %v", a.names)
	}
}

func TestAcceptorRoomIsBounded(t *testing.T) {
	a := newWorld(t).acceptors[1] // room for four
	for i := range 4 {
		m, _ := a.Handle(0, user(KindAccept, fmt.Sprint("live", i), 1, p))
		wantKind(t, m, KindAccepted)
	}
	for _, k := range []Kind{KindPrepare, KindAccept} {
		m, _ := a.Handle(2*ms-1, user(k, "one too many", 1, q))
		if (m.Kind != KindPrepareRejected && m.Kind != KindAcceptRejected) || m.Check() != nil || len(a.names) != 4 {
			t.Errorf("%v: %v with %d names", k, m, len(a.names))
		}
	}
	a.Handle(2*ms-1, user(KindRelease, "never seen", 1, q))
	master := user(KindPrepare, MasterResource, 1, q)
	master.Class = ClassMaster
	m, _ := a.Handle(2*ms-1, master)
	wantKind(t, m, KindPromise) // no user can take the master's room

	m, _ = a.Handle(2*ms, user(KindPrepare, "in time", 1, q))
	wantKind(t, m, KindPromise)
	if len(a.names) != 1 {
		t.Errorf("%d names, though all but one have expired", len(a.names))
	}
	for i := range 100 {
		a.Handle(2*ms, user(KindPrepare, fmt.Sprint("idle", i), 1, q))
		if len(a.names) > 4 {
			t.Fatalf("%d names", len(a.names))
		}
	}
	if a.master.promised != master.Ballot {
		t.Error("the master's promise was forgotten")
	}
}
