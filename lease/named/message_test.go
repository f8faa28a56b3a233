package named

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tenure/lease"
)

// Messages that no node sends are dropped unseen.
func TestMalformedMessagesAreRefused(t *testing.T) {
	good := func() (Request, Reply) {
		return Request{Kind: Accept, Name: nameOf("n"), Counter: 1, Acquisition: acquisitionOf("a"), Token: 1, Duration: ms,
				Owner: strings.Repeat("o", MaxOwnerBytes)},
			Reply{Kind: Promise, Name: nameOf("n"), Counter: lease.MaxCounter - 1, Promised: lease.MaxCounter - 1, Report: 4,
				Live: true, LiveAcquisition: acquisitionOf("a"), LiveToken: 4, LiveOwner: strings.Repeat("o", MaxOwnerBytes)}
	}
	if q, r := good(); q.Check() != nil || r.Check() != nil {
		t.Fatalf("%v, %v", q.Check(), r.Check())
	}
	for name, f := range map[string]func(q *Request, r *Reply){
		"no kind":         func(q *Request, r *Reply) { q.Kind, r.Kind = 0, 0 },
		"the other's":     func(q *Request, r *Reply) { q.Kind, r.Kind = Promise, Prepare },
		"unknown kind":    func(q *Request, r *Reply) { q.Kind, r.Kind = 10, 10 },
		"no counter":      func(q *Request, r *Reply) { q.Counter, r.Counter = 0, 0 },
		"largest counter": func(q *Request, r *Reply) { q.Counter, r.Counter = lease.MaxCounter, lease.MaxCounter },
		"promised":        func(q *Request, r *Reply) { q.Duration, r.Promised = 0, lease.MaxCounter },
		"no acquisition":  func(q *Request, r *Reply) { q.Acquisition, r.LiveAcquisition = Acquisition{}, Acquisition{} },
		"no token":        func(q *Request, r *Reply) { q.Token, r.LiveToken = 0, 0 },
		"token, duration": func(q *Request, r *Reply) { q.Duration, r.LiveToken = -1, 5 },
		"owner":           func(q *Request, r *Reply) { q.Owner += "o"; r.LiveOwner += "o" },
	} {
		q, r := good()
		w := newWorld(t)
		before := w.tables[1].AppendState(nil, w.now)
		f(&q, &r)
		if reply, ok := w.tables[1].Handle(w.now, w.self, q); ok ||
			!bytes.Equal(w.tables[1].AppendState(nil, w.now), before) {
			t.Errorf("%s: answered %v with %+v", name, ok, reply)
		}
		if !errors.Is(q.Check(), ErrMalformed) || !errors.Is(r.Check(), ErrMalformed) {
			t.Errorf("%s: %v, %v", name, q.Check(), r.Check())
		}
	}
}

// Nodes of different versions talk to each other: a kind keeps its number.
func TestKindsAreOnTheWire(t *testing.T) {
	for k, want := range map[Kind]uint8{Prepare: 1, Promise: 2, PrepareRejected: 3, Accept: 4, Accepted: 5,
		AcceptRejected: 6,
		Release:        7, Released: 8, Withdraw: 9} {
		if uint8(k) != want {
			t.Errorf("%v is %d on the wire, was %d", k, k, want)
		}
	}
}

// A search visits a state once: tables that answer differently have different states.
func TestTablesThatDifferHaveDifferentStates(t *testing.T) {
	seen := map[string]string{}
	for name, q := range map[string]Request{
		"lease":               {Acquisition: acquisitionOf("a"), Token: 1, Counter: 1, Duration: ms},
		"another acquisition": {Acquisition: acquisitionOf("b"), Token: 1, Counter: 1, Duration: ms},
		"another token":       {Acquisition: acquisitionOf("a"), Token: 2, Counter: 1, Duration: ms},
		"another counter":     {Acquisition: acquisitionOf("a"), Token: 1, Counter: 2, Duration: ms},
		"longer":              {Acquisition: acquisitionOf("a"), Token: 1, Counter: 1, Duration: 2 * ms},
	} {
		w := newWorld(t)
		q.Kind, q.Name, q.Token = Accept, nameOf("n"), q.Token+w.tables[1].Floor()
		if r, ok := w.tables[1].Handle(w.now, w.self, q); !ok || r.Kind != Accepted {
			t.Fatalf("%s: %v %+v", name, ok, r)
		}
		s := string(w.tables[1].AppendState(nil, w.now))
		if other, same := seen[s]; same {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[s] = name
	}
}
