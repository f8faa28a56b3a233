package members

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tenure/internal/ident"
)

// checkRemoved fails the test unless next remembers the names of those who left, and none that a member has.
func (w *world) checkRemoved(next Record) {
	w.t.Helper()
	for _, x := range w.rec.Membership.All() {
		_, _, stays := next.Membership.Find(x.Node)
		_, listed := next.Named(NameOf(x))
		if !stays && !listed && !slices.Contains(next.Removed, NameOf(x)) {
			w.t.Fatalf("node %d, %s, left, and the removed names are %q", x.Node, NameOf(x), next.Removed)
		}
	}
	for i, name := range next.Removed {
		if x, listed := next.Named(name); listed || slices.Contains(next.Removed[:i], name) {
			w.t.Fatalf("%s is named %s, and the removed names are %q", x.Store, name, next.Removed)
		}
	}
}

func (w *world) wantRemoved(names ...string) {
	w.t.Helper()
	if !slices.Equal(w.rec.Removed, names) {
		w.t.Fatalf("the removed names are %q, want %q", w.rec.Removed, names)
	}
}

// named returns a world of three voters a, b and c at the newest feature level.
func named(t *testing.T) *world {
	w := newWorld(t, 3)
	w.facts.Level = levelOfReadmit
	for i, name := range []string{"a", "b", "c"} {
		w.rec.Membership.Members[i].Name = name
	}
	return w
}

func TestRemovedNamesAreRemembered(t *testing.T) {
	comer := ident.Member{Store: store(4), Name: "c"}
	for what, c := range map[string]struct {
		do      func(w *world)
		removed []string
	}{
		"removed": {func(w *world) { w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 3}) }, []string{"c"}},
		"replaced under another name": {func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3, Member: ident.Member{Store: store(4), Name: "d"}})
			w.well(4)
		}, []string{"c"}},
		"replaced under the same name": {func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Replace, Node: 3, Member: comer, Certified: true})
			w.well(4)
		}, nil},
		"replaced when dead": {func(w *world) {
			w.dead(3)
			w.mustBegin(Operation{ID: "op", Kind: Replace, Name: "c", Member: comer, Unheard: true, Certified: true})
			w.well(4)
		}, nil},
		"who came in its place is taken back": {func(w *world) {
			w.dead(3)
			w.mustBegin(Operation{ID: "op", Kind: Replace, Name: "c", Member: comer, Unheard: true, Certified: true})
			w.cancel("op", 0)
		}, nil},
		"who came in its place has lost its disk again": {func(w *world) {
			w.dead(3)
			w.mustBegin(Operation{ID: "op", Kind: Replace, Name: "c", Member: comer, Unheard: true, Certified: true})
			w.dead(4)
			w.facts.Unchanged = time.Hour
			again := ident.Member{Store: store(5), Name: "c"}
			w.mustBegin(Operation{ID: "op2", Kind: Replace, Name: "c", Member: again, Unheard: true, Certified: true})
			w.well(5)
		}, nil},
		"a non-voter": {func(w *world) {
			w.mustBegin(Operation{ID: "add", Kind: Add, NonVoter: true, Member: ident.Member{Store: store(4)}})
			w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 4})
		}, []string{"node-4"}},
		"let in again without a certificate": {func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 3})
			w.steps()
			w.wantRemoved("c")
			w.mustBegin(Operation{ID: "again", Kind: Add, Member: comer})
		}, nil},
		"another gets the name": {func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 3})
			w.steps()
			w.mustBegin(Operation{ID: "name", Kind: Update, Node: 2, Member: ident.Member{Name: "c"}})
		}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			w := named(t)
			c.do(w)
			w.steps()
			w.wantRemoved(c.removed...)
		})
	}
}

// A node with the certificate of a removed member is let in only after the operator's word.
func TestReadmit(t *testing.T) {
	w := named(t)
	comes := func(id string) Operation {
		return Operation{ID: id, Kind: Add, Member: ident.Member{Store: store(4), Name: "c"}, Certified: true}
	}
	readmit := func(id, name string) Operation {
		return Operation{ID: id, Kind: Readmit, Member: ident.Member{Name: name}}
	}
	w.refused(Unknown, readmit("early", "d"))
	w.refused(AlreadyIs, readmit("early", "c"))
	w.refused(Invalid, readmit("early", ""))
	w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 3})
	w.steps()
	w.refused(WasRemoved, comes("join"))
	replaces := comes("join")
	replaces.Kind, replaces.Name = Replace, "b"
	w.refused(WasRemoved, replaces)
	gone := comes("join")
	gone.Kind, gone.Name = Replace, "c"
	w.refused(WasRemoved, gone)

	w.facts.Level = levelOfReadmit - 1
	w.refused(Level, readmit("back", "c"))
	w.facts.Level = levelOfReadmit
	if p, err := w.rec.Explain(readmit("back", "c"), w.facts); err != nil || len(p.Steps) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	w.mustBegin(readmit("back", "c"))
	w.state("back", Done)
	w.wantRemoved()
	before := w.rec
	if w.mustBegin(readmit("back", "c")); !w.rec.Equal(before) {
		t.Fatal("the same operation changed something again")
	}
	w.refused(IDReused, readmit("back", "d"))
	w.mustBegin(comes("join"))
	if o, _ := w.rec.Operation("join"); o.Certified {
		t.Fatalf("the record has what only a request says: %+v", o)
	}
}

func TestRemovedNamesAreBounded(t *testing.T) {
	w := named(t)
	for i := range MaxRemoved + 2 {
		w.mustBegin(Operation{ID: fmt.Sprint("add", i), Kind: Add, NonVoter: true, Member: ident.Member{Store: store(4)}})
		w.mustBegin(Operation{ID: fmt.Sprint("remove", i), Kind: Remove, Node: w.rec.NextNode - 1})
	}
	last := fmt.Sprintf("node-%d", w.rec.NextNode-1)
	if n := w.rec.Removed; len(n) != MaxRemoved || n[0] != "node-6" || n[MaxRemoved-1] != last {
		t.Fatalf("%d names, %q", len(n), n)
	}
}
