package members

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// draw makes an operation that may be sensible or not.
func draw(r *rand.Rand, n int, rec Record) Operation {
	some := func() ballot.NodeID { return ballot.NodeID(1 + r.IntN(int(rec.NextNode))) }
	op := Operation{ID: fmt.Sprint("op", n), Kind: Kind(1 + r.IntN(5)), Node: some(), Unheard: r.IntN(3) == 0}
	if r.IntN(3) > 0 {
		op.Member.Store = store(10 + n%200)
		op.Member.Store[2] = byte(n / 200)
	} else if r.IntN(2) == 0 {
		op.Member.Node = some()
	}
	if op.Kind == Update {
		op.Member = ident.Member{ClientAddr: fmt.Sprint(n)}
	}
	if r.IntN(4) == 0 {
		op.Member.Name = fmt.Sprint("node-", some())
	}
	op.NonVoter, op.Spare = r.IntN(6) == 0, r.IntN(4) == 0
	if op.Spare {
		op.ReplaceAfter = time.Minute
	}
	return op
}

// check fails the test if the step from the record before was not allowed by what is known of the nodes.
func (w *world) check(before Record) {
	w.t.Helper()
	was, is := before.Membership.Voters(), w.rec.Membership.Voters()
	for _, id := range is.IDs() {
		if !was.Has(id) && !(w.facts.node(id).CaughtUp && w.facts.node(id).Agrees) {
			w.t.Fatalf("node %d became a voter, and is %+v", id, w.facts.node(id))
		}
	}
	for _, id := range was.IDs() {
		if is.Has(id) {
			continue
		}
		if id == w.facts.Self {
			w.t.Fatalf("node %d, the master, removed itself", id)
		}
		if !quorum.Reached(is, w.facts.alive(is)) {
			w.t.Fatalf("node %d was removed, and of %v only %v are alive", id, is, w.facts.alive(is))
		}
	}
}

// shuffle draws anew who is alive and caught up; the master is, and so is a majority.
func (w *world) shuffle(r *rand.Rand) {
	w.facts.Nodes = nil
	for id := ballot.NodeID(1); id < w.rec.NextNode; id++ {
		n := Node{ID: id, Alive: r.IntN(5) > 0}
		n.CaughtUp = n.Alive && r.IntN(4) > 0
		n.Agrees = n.CaughtUp && r.IntN(4) > 0
		if !n.Alive {
			n.Silent = time.Duration(r.IntN(3)) * time.Minute
		}
		w.know(n)
	}
	voters := w.rec.Membership.Voters()
	for _, id := range voters.IDs() {
		if quorum.Reached(voters, w.facts.alive(voters)) {
			break
		}
		w.well(id)
	}
	if alive := w.facts.alive(voters).IDs(); !slices.Contains(alive, w.facts.Self) || r.IntN(10) == 0 {
		w.facts.Self = alive[r.IntN(len(alive))]
	}
	w.facts.Settled = r.IntN(2) == 0
}

// Whatever is asked for and whoever dies, each record may follow the one before, and in the end, when all are well,
// every operation ends.
func TestRandomStories(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t, 1+r.IntN(7))
		t.Logf("seed %d", seed)
		for n := range 150 {
			w.shuffle(r)
			w.facts.Slot++
			before := w.rec
			switch r.IntN(6) {
			case 0:
				_ = w.begin(draw(r, n, w.rec))
			case 1:
				if run, ok := w.rec.Running(); ok && r.IntN(4) == 0 {
					if next, changed, _ := w.rec.Cancel(run.ID, w.facts); changed {
						w.took(next)
					}
				}
			default:
				if s := Next(w.rec, w.facts); s.Change {
					w.took(s.Record)
				} else if s.HandOver && w.rec.Membership.Voters().Len() == 1 {
					t.Fatal("the last voter is to hand over")
				}
			}
			w.check(before)
		}
		w.recover()
	}
}

// recover has all nodes well, and whoever is waited for come, and fails the test unless everything ends.
func (w *world) recover() {
	w.t.Helper()
	for range 60 {
		for id := ballot.NodeID(1); id < w.rec.NextNode; id++ {
			w.well(id)
		}
		w.facts.Settled = true
		run, runs := w.rec.Running()
		if !runs && w.rec.IsSettled() {
			return
		}
		s := Next(w.rec, w.facts)
		switch {
		case s.Change:
			w.took(s.Record)
		case s.HandOver:
			for _, id := range w.rec.Membership.Voters().IDs() {
				if id != run.Node {
					w.facts.Self = id
				}
			}
		case run.Kind == Replace && !run.joined():
			old, _, _ := w.rec.Membership.Find(run.Node)
			w.mustBegin(Operation{ID: "comes", Kind: Add, Member: ident.Member{Store: store(250), Name: NameOf(old)}})
		default:
			w.t.Fatalf("operation %+v waits for ever: %q", run, s.Why)
		}
	}
	w.t.Fatalf("no end of %+v", w.rec)
}
