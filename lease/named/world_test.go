package named

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

const (
	testM      = 1000 * time.Millisecond
	testMargin = 10 * time.Millisecond
)

func testConfig() Config {
	return Config{
		Timing:     lease.Timing{MaxMaster: testM, MaxUser: testM, Margin: testMargin},
		MaxRecords: 64, Linger: 0, Width: time.Millisecond,
	}
}

func nameOf(s string) (n Name)               { copy(n[:], s); return n }
func acquisitionOf(s string) (a Acquisition) { copy(a[:], s); return a }

// world is three acceptors and one clock; replies come at once.
type world struct {
	t       *testing.T
	now     time.Duration
	tables  map[ballot.NodeID]*Table
	down    map[ballot.NodeID]bool
	voters  quorum.Set
	counter uint64
	self    ballot.Incarnation
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Second, tables: map[ballot.NodeID]*Table{}, down: map[ballot.NodeID]bool{},
		voters: quorum.Of(1, 2, 3), self: ballot.Incarnation{Restart: 1, Node: 9, Nonce: 7}}
	for n := ballot.NodeID(1); n <= 3; n++ {
		w.start(n, testConfig(), uint32(n))
	}
	return w
}

func (w *world) start(n ballot.NodeID, c Config, era uint32) {
	w.t.Helper()
	table, err := NewTable(c, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	if era > 0 {
		table.Open(era)
	}
	w.tables[n] = table
}

func (w *world) begin(ask Ask) *Attempt {
	w.counter++
	a := Begin(w.now, ask, w.voters, w.counter)
	return &a
}

// round sends the attempt's request to those that have not answered, and their replies back.
func (w *world) round(a *Attempt) {
	q, to := a.Requests(w.now)
	for i := range to.Len() {
		n := to.At(i)
		if w.down[n] {
			continue
		}
		if r, ok := w.tables[n].Handle(w.now, w.self, q); ok && a.Handle(w.now, n, r) {
			return
		}
	}
}

// try runs an attempt to its end.
func (w *world) try(ask Ask) *Attempt {
	a := w.begin(ask)
	for range 4 {
		w.round(a)
	}
	return a
}

func (w *world) want(a *Attempt, e End) {
	w.t.Helper()
	if a.End() != e {
		w.t.Fatalf("the attempt ended as %v, want %v", a.End(), e)
	}
}

func ask(acquisition string) Ask {
	return Ask{Name: nameOf("n"), Acquisition: acquisitionOf(acquisition), Owner: "owner of " + acquisition,
		Duration: 500 * time.Millisecond}
}

func renewal(acquisition string) Ask {
	q := ask(acquisition)
	q.Renewal = true
	return q
}
