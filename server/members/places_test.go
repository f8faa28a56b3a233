package members

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

func (w *world) cancel(id string, why Reason) {
	w.t.Helper()
	next, changed, err := w.rec.Cancel(id, w.facts)
	var r *Refusal
	if errors.As(err, &r) != (why != 0) || r != nil && r.Reason != why {
		w.t.Fatalf("cancel %s: %v, want reason %d", id, err, why)
	}
	if changed {
		w.took(next)
	}
}

func TestCancel(t *testing.T) {
	comer := ident.Member{Store: store(4)}
	for _, c := range []struct {
		name    string
		story   func(w *world)
		why     Reason
		state   State
		is, non string
	}{
		{"add", func(w *world) { w.mustBegin(Operation{ID: "op", Kind: Add, Member: comer}) }, 0, Cancelled, "1,2,3", ""},
		{"a done one", func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Add, Member: comer, NonVoter: true})
		}, TooLate, Done, "1,2,3", "4"},
		{"remove that waits", func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 2})
		}, 0, Cancelled, "1,2,3", ""},
		{"replace before anything", func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3, Member: comer})
		}, 0, Cancelled, "1,2,3", ""},
		{"replace that waits for a node", func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3})
		}, 0, Cancelled, "1,2,3", ""},
		{"replace by a non-voter leaves it", func(w *world) {
			w.mustBegin(Operation{ID: "n", Kind: Add, Member: comer, NonVoter: true})
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3, Member: ident.Member{Node: 4}})
		}, 0, Cancelled, "1,2,3", "4"},
		{"replace with both voting", func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3, Member: comer})
			w.well(4)
			w.took(Next(w.rec, w.facts).Record)
		}, 0, Cancelled, "1,2,3,4", ""},
		{"replace with the old one gone", func(w *world) {
			w.dead(3)
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3, Member: comer})
			w.well(4)
			w.took(Next(w.rec, w.facts).Record)
		}, TooLate, Running, "1,2", "4"},
		{"replace with both gone", func(w *world) {
			w.dead(3)
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3, Member: comer})
			w.well(4)
			w.took(Next(w.rec, w.facts).Record)
			w.dead(4)
		}, 0, Cancelled, "1,2", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 3)
			c.story(w)
			w.cancel("op", c.why)
			w.state("op", c.state)
			w.want(c.is, c.non)
			if c.state == Cancelled {
				w.cancel("op", 0) // the answer was lost
				w.mustBegin(Operation{ID: "next", Kind: Update, Node: 1, Member: ident.Member{Name: "a"}})
			}
		})
	}
	w := newWorld(t, 3)
	w.cancel("nobody's", Unknown)
}

// kvctl member replace, and then the node comes with an empty disk under its old name.
func TestReplaceWaitsForTheNodeToCome(t *testing.T) {
	w := newWorld(t, 3)
	w.dead(3)
	w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3})
	if s := Next(w.rec, w.facts); s.Change || !strings.Contains(s.Why, "--replace node-3") {
		t.Fatalf("%+v", s)
	}
	w.refused(Busy, Operation{ID: "other", Kind: Add, Member: ident.Member{Store: store(7), Name: "else"}})
	w.mustBegin(Operation{ID: "join", Kind: Add, Member: ident.Member{Store: store(4), Name: "node-3", PeerAddr: "h3:1"}})
	w.want("1,2,3", "4")
	// Another one of that name does not throw it out while it has not had the time to connect.
	w.know(Node{ID: 4, Silent: time.Hour})
	again := Operation{ID: "join2", Kind: Replace, Name: "node-3", Member: ident.Member{Store: store(5)}, Unheard: true}
	w.refused(Busy, again)
	w.facts.Unchanged = goneAfter
	w.know(Node{ID: 4})
	w.refused(Busy, again)
	// It loses its disk once more, and comes again.
	w.know(Node{ID: 4, Silent: goneAfter})
	w.mustBegin(Operation{ID: "join2", Kind: Replace, Name: "node-3", Member: ident.Member{Store: store(5)}, Unheard: true})
	w.want("1,2,3", "5")
	w.well(5)
	w.steps()
	w.want("1,2,5", "")
	w.state("op", Done)
	if m, ok := w.rec.Named("node-3"); !ok || m.Node != 5 {
		t.Fatalf("%+v has the name", m)
	}
	// So the same command line replaces it again.
	w.dead(5)
	w.mustBegin(Operation{ID: "join3", Kind: Replace, Name: "node-3", Member: ident.Member{Store: store(6)}, Unheard: true})
	w.well(6)
	w.steps()
	w.want("1,2,6", "")
}

// A node that takes a place must not come with the address of another member.
func TestAPlaceIsNotTakenUnderAnAddressInUse(t *testing.T) {
	w := newWorld(t, 3)
	w.dead(3)
	w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3})
	taken, _, _ := w.rec.Membership.Find(1)
	w.refused(Busy, Operation{ID: "join", Kind: Add,
		Member: ident.Member{Store: store(4), Name: "node-3", PeerAddr: taken.PeerAddr}})
	w.want("1,2,3", "")
}

// The bootstrap writes no addresses: the first change of the members does.
func TestAddressesAreFilledIn(t *testing.T) {
	w := newWorld(t, 3)
	for i := range w.rec.Membership.Members {
		m := &w.rec.Membership.Members[i]
		m.PeerAddr, m.ClientAddr = "", ""
	}
	w.rec.Membership.Members[2].ClientAddr = "c:3"
	known := []ident.Member{{Node: 1, PeerAddr: "p:1", ClientAddr: "c:1"}, {Node: 2, PeerAddr: "p:1", ClientAddr: "c 2"},
		{Node: 3, PeerAddr: "p:3", ClientAddr: "c:9"}, {Node: 9, PeerAddr: "p:9"}}
	before := w.rec.Membership.Change
	next := w.rec.Fill(known)
	if next.Membership.Change != before+1 || w.rec.Membership.Members[0].PeerAddr != "" {
		t.Errorf("change %d after %d, and before %+v", next.Membership.Change, before, w.rec.Membership.Members)
	}
	for i, want := range [][2]string{{"p:1", "c:1"}, {"", ""}, {"p:3", "c:3"}} {
		if m := next.Membership.Members[i]; m.PeerAddr != want[0] || m.ClientAddr != want[1] {
			t.Errorf("%+v, want %q", m, want)
		}
	}
	if again := next.Fill(known); !again.Equal(next) {
		t.Errorf("filled twice: %+v", again.Membership)
	}
}

func TestAnUpdateSaysWhatItChanges(t *testing.T) {
	w := newWorld(t, 3)
	w.rec.Membership.Members[1].PeerAddr, w.rec.Membership.Members[0].PeerAddr = "p:2", "p:1"
	w.refused(AlreadyIs, Operation{ID: "same", Kind: Update, Node: 2, Member: ident.Member{Name: "node-2", PeerAddr: "p:2"}})
	w.refused(NameTaken, Operation{ID: "taken", Kind: Update, Node: 2, Member: ident.Member{PeerAddr: "p:1"}})
	p, err := w.rec.Explain(Operation{ID: "op", Kind: Update, Node: 2, Member: ident.Member{Name: "b", PeerAddr: "p:9"}}, w.facts)
	if want := "node 2 gets the name b (was node-2), the address for peers p:9 (was p:2)"; err != nil || p.Steps[0] != want {
		t.Errorf("%q, %v", p.Steps, err)
	}
}

// Names and addresses in join messages are plain ASCII: a name that messages cannot carry would keep every node out.
func TestNamesAndAddressesArePlain(t *testing.T) {
	w := newWorld(t, 3)
	for _, m := range []ident.Member{{Name: "nød"}, {Name: "a b"}, {PeerAddr: "é:80"}, {ClientAddr: "a b:80"}, {Name: "a\n"}, {Name: "7"}} {
		w.refused(Invalid, Operation{ID: "op", Kind: Update, Node: 2, Member: m})
	}
}

// Without a node to come, a spare takes the place, at once or later; never a non-voter that was made to stay one.
func TestReplaceTakesASpare(t *testing.T) {
	w := newWorld(t, 3)
	w.dead(3)
	w.mustBegin(Operation{ID: "n", Kind: Add, Member: ident.Member{Store: store(4)}, NonVoter: true})
	w.well(4)
	w.mustBegin(Operation{ID: "s", Kind: Add, Member: ident.Member{Store: store(5)}, Spare: true})
	w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3})
	w.steps()
	w.want("1,2,3", "4,5")
	w.well(5)
	w.steps()
	w.want("1,2,5", "4")
	w.dead(1)
	w.facts.Self = 2
	w.mustBegin(Operation{ID: "op2", Kind: Replace, Node: 1, Member: ident.Member{Node: 4}})
	w.steps()
	w.want("2,4,5", "")
}

// spares is a cluster of voters with spares behind them.
func spares(t *testing.T, voters, spares int) *world {
	w := newWorld(t, voters)
	for i := range spares {
		id := voters + 1 + i
		w.mustBegin(Operation{ID: string(rune('a' + i)), Kind: Add, Member: ident.Member{Store: store(id)}, Spare: true,
			ReplaceAfter: time.Minute})
		w.well(ballot.NodeID(id))
	}
	return w
}

func TestSpareTakesThePlaceOfADeadVoter(t *testing.T) {
	w := spares(t, 3, 1)
	w.know(Node{ID: 3, Silent: time.Minute - 1})
	w.steps()
	w.want("1,2,3", "4")
	w.dead(3)
	w.steps()
	w.want("1,2,4", "")
	if len(w.rec.Spares) != 0 {
		t.Fatalf("%+v", w.rec.Spares)
	}
}

func TestSpareThatLagsOrIsSwitchedOffReplacesNobody(t *testing.T) {
	w := spares(t, 3, 1)
	w.dead(3)
	w.know(Node{ID: 4, Alive: true})
	w.steps()
	w.want("1,2,3", "4")
	w.well(4)
	w.rec.Spares[0].ReplaceAfter = 0
	w.steps()
	w.want("1,2,3", "4")
}

// Two are killed at once: one place at a time, and nothing shrinks for want of spares.
func TestSpareReplacesOneOfTwo(t *testing.T) {
	w := spares(t, 5, 1)
	w.dead(4)
	w.dead(5)
	least := 5
	for range 20 {
		s := Next(w.rec, w.facts)
		if s.Change {
			w.took(s.Record)
		} else {
			w.facts.Settled = true
		}
		least = min(least, len(w.rec.Membership.Members))
	}
	w.want("1,2,3,5,6", "")
	if least != 4 {
		t.Fatalf("%d voters were left", least)
	}
}

// A spare that dies at each moment: before the removal the place is not given up, after it the next spare takes it.
// An operation that waits for a node which is not there does not keep a spare from a dead voter's place.
func TestASpareGoesBeforeWhoDoesNotCome(t *testing.T) {
	comer := ident.Member{Store: store(9)}
	for name, op := range map[string]Operation{
		"add": {ID: "op", Kind: Add, Member: comer}, "replace": {ID: "op", Kind: Replace, Node: 1, Member: comer},
	} {
		w := spares(t, 3, 1)
		w.facts.Nodes = slices.DeleteFunc(w.facts.Nodes, func(n Node) bool { return n.ID == 4 }) // it lags for a moment
		w.facts.Self = 2
		w.mustBegin(op)
		w.dead(3)
		if s := Next(w.rec, w.facts); s.Change {
			t.Fatalf("%s: %s, with a spare that is not caught up", name, s.Why)
		}
		w.well(4)
		w.facts.Unchanged = goneAfter
		w.facts.Nodes = append(w.facts.Nodes, Node{ID: 5, Silent: goneAfter})
		w.steps()
		w.want("1,2,4", "5")
		if o, _ := w.rec.Operation("op"); o.State != Cancelled || !strings.Contains(o.Problem, "kvctl member promote 5") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestSpareDies(t *testing.T) {
	w := spares(t, 3, 1)
	w.dead(3)
	w.took(Next(w.rec, w.facts).Record)
	w.dead(4)
	w.steps()
	w.want("1,2,3", "4")
	if _, runs := w.rec.Running(); runs {
		t.Fatal("the replacement was not given up")
	}

	w = spares(t, 4, 2)
	w.dead(4)
	w.took(Next(w.rec, w.facts).Record) // begins
	w.took(Next(w.rec, w.facts).Record) // removes
	w.want("1,2,3", "5,6")
	w.dead(5)
	w.dead(3)
	w.steps()
	if w.want("1,2,3,6", "5"); len(w.rec.Spares) != 1 {
		t.Fatalf("%+v", w.rec.Spares)
	}

	// With no other spare the place stays open, and nobody else is removed, until it is back.
	w = spares(t, 5, 1)
	w.dead(5)
	w.took(Next(w.rec, w.facts).Record)
	w.took(Next(w.rec, w.facts).Record)
	w.dead(6)
	w.dead(4)
	w.steps()
	w.want("1,2,3,4", "6")
	w.well(6)
	w.took(Next(w.rec, w.facts).Record)
	w.want("1,2,3,4,6", "")
}

func TestVoterIsHeardAgainBeforeItIsReplaced(t *testing.T) {
	w := spares(t, 3, 1)
	w.dead(3)
	w.took(Next(w.rec, w.facts).Record)
	w.well(3)
	w.steps()
	w.want("1,2,3", "4")
}

func TestExplain(t *testing.T) {
	comer := ident.Member{Store: store(4)}
	for _, c := range []struct {
		name                    string
		dead                    ballot.NodeID
		op                      Operation
		steps                   int
		before, meanwhile, last Tolerance
	}{
		{"add", 0, Operation{Kind: Add}, 5, Tolerance{3, 3, 1}, Tolerance{3, 3, 1}, Tolerance{4, 4, 1}},
		{"remove", 0, Operation{Kind: Remove, Node: 2}, 2, Tolerance{3, 3, 1}, Tolerance{2, 2, 0}, Tolerance{2, 2, 0}},
		{"remove the master", 0, Operation{Kind: Remove, Node: 1}, 3, Tolerance{3, 3, 1}, Tolerance{2, 2, 0},
			Tolerance{2, 2, 0}},
		{"remove the master by its name", 0, Operation{Kind: Remove, Name: "node-1"}, 3, Tolerance{3, 3, 1},
			Tolerance{2, 2, 0}, Tolerance{2, 2, 0}},
		{"replace", 0, Operation{Kind: Replace, Node: 3, Member: comer}, 6, Tolerance{3, 3, 1}, Tolerance{3, 3, 1},
			Tolerance{3, 3, 1}},
		{"replace a dead one", 3, Operation{Kind: Replace, Node: 3}, 8, Tolerance{3, 2, 0}, Tolerance{3, 2, 0},
			Tolerance{3, 3, 1}},
		{"update", 0, Operation{Kind: Update, Node: 2, Member: ident.Member{Name: "b"}}, 1, Tolerance{3, 3, 1},
			Tolerance{3, 3, 1}, Tolerance{3, 3, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 3)
			if c.dead != 0 {
				w.dead(c.dead)
			}
			c.op.ID = "op"
			before := w.rec
			p, err := w.rec.Explain(c.op, w.facts)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Steps) != c.steps || p.Before != c.before || p.Meanwhile != c.meanwhile || p.After != c.last {
				t.Fatalf("%q\nbefore %v, meanwhile %v, after %v", p.Steps, p.Before, p.Meanwhile, p.After)
			}
			if !w.rec.Equal(before) {
				t.Fatal("a dry run changed the record")
			}
		})
	}
}

func TestDecodeRefusesWhatNoMasterWrites(t *testing.T) {
	good := newWorld(t, 3).rec
	for name, spoil := range map[string]func(r *Record){
		"no number":          func(r *Record) { r.Membership.Number = 0 },
		"two unsettled":      func(r *Record) { r.Membership.Number = 3 },
		"settled in advance": func(r *Record) { r.Settled = 2 },
		"no voters":          func(r *Record) { r.Membership.Members = nil },
		"out of order": func(r *Record) {
			r.Membership.Members[0], r.Membership.Members[1] = r.Membership.Members[1], r.Membership.Members[0]
		},
		"eight voters": func(r *Record) {
			for i := 4; i <= 8; i++ {
				r.Membership.Members = append(r.Membership.Members, member(i))
			}
			r.NextNode = 9
		},
		"an id that is to come": func(r *Record) { r.NextNode = 3 },
		"listed twice":          func(r *Record) { r.Membership.NonVoters = []ident.Member{member(2)} },
		"too many removed names": func(r *Record) {
			for i := range MaxRemoved + 1 {
				r.Removed = append(r.Removed, fmt.Sprint("x", i))
			}
		},
		"a removed member without a name": func(r *Record) { r.Removed = []string{""} },
		"an operation without id": func(r *Record) {
			r.Operations = []Operation{{Kind: Add, State: Done}}
		},
		"two run": func(r *Record) {
			r.Operations = []Operation{{ID: "a", Kind: Add, State: Running}, {ID: "b", Kind: Add, State: Running}}
		},
	} {
		r := good.clone()
		spoil(&r)
		if _, err := Decode(r.Encode()); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := good.Encode()
	for i := range b {
		if _, err := Decode(b[:i]); err == nil {
			t.Fatalf("%d of %d bytes are a record", i, len(b))
		}
	}
}
