package members

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/internal/ident"
)

// A node is a member under the name of its certificate, whatever it joins for, or not at all.
func TestANodeJoinsUnderItsOwnNameOnly(t *testing.T) {
	comes := func(name string) Operation {
		return Operation{ID: "join", Kind: Replace, Name: "c", Certified: true, Unheard: true,
			Member: ident.Member{Store: store(4), Name: name}}
	}
	add := func(name string) Operation {
		return Operation{ID: "join", Kind: Add, Certified: true, Member: ident.Member{Store: store(4), Name: name}}
	}
	spare := func(name string) Operation {
		op := add(name)
		op.Spare = true
		return op
	}
	replacing := func(w *world) { w.mustBegin(Operation{ID: "move", Kind: Replace, Node: 3}) }
	lostAgain := func(w *world) {
		replacing(w)
		w.mustBegin(Operation{ID: "first", Kind: Replace, Name: "c", Member: ident.Member{Store: store(5), Name: "c"}})
		w.dead(4)
		w.facts.Unchanged = time.Hour
	}
	letIn := func(name string) func(w *world) {
		return func(w *world) { w.mustBegin(add(name)) }
	}
	for what, c := range map[string]struct {
		before func(w *world)
		op     Operation
		words  string // of the refusal; "": it is let in
	}{
		"in place of a node, by an operation":              {replacing, comes("c"), ""},
		"in place of a node, by an operation, misnamed":    {replacing, comes("d"), "kvctl ca node c --hosts HOST --out DIR"},
		"in place of one that has lost its disk":           {lostAgain, comes("c"), ""},
		"in place of one that has lost its disk, misnamed": {lostAgain, comes("d"), "kvctl member cancel move"},
		"beside an operation":                              {replacing, add("c"), ""},
		"beside an operation, misnamed":                    {replacing, add("d"), "move"},
		"as a spare beside an operation":                   {replacing, spare("d"), "move"},
		"by itself, in place of a silent node":             {func(w *world) { w.dead(3) }, comes("d"), ""},
		"again":                                            {letIn("d"), add("d"), ""},
		"again, with another certificate":                  {letIn("d"), add("e"), "as d"},
		"again, with that of a member":                     {letIn("d"), comes("c"), "as d"},
	} {
		t.Run(what, func(t *testing.T) {
			w := named(t)
			c.before(w)
			before := w.rec
			c.op.ID += "-now"
			err := w.begin(c.op)
			if c.words == "" {
				if x, ok := w.rec.WithStore(store(4)); err != nil || !ok || NameOf(x) != c.op.Member.Name {
					t.Fatalf("%v, listed: %v, as %s", err, ok, NameOf(x))
				}
				return
			}
			var r *Refusal
			if !errors.As(err, &r) || !strings.Contains(r.Text, c.words) || strings.Contains(r.Text, "\n") {
				t.Fatalf("got %v, want a line with %q", err, c.words)
			}
			if !w.rec.Equal(before) {
				t.Fatal("a refused node changed the record")
			}
		})
	}
}

// Without certificates a name proves nothing, and a node takes that of its place.
func TestWithoutCertificatesThePlaceGivesTheName(t *testing.T) {
	w := named(t)
	w.mustBegin(Operation{ID: "move", Kind: Replace, Node: 3})
	w.mustBegin(Operation{ID: "join", Kind: Replace, Name: "c", Member: ident.Member{Store: store(4), Name: "d"}})
	if x, ok := w.rec.WithStore(store(4)); !ok || NameOf(x) != "c" {
		t.Fatalf("listed: %v, as %s", ok, NameOf(x))
	}
}
