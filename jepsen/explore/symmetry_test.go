package explore

import (
	"context"
	"testing"
)

// The symmetry loses nothing: what is found without it falls into exactly the classes found with it.
func TestSymmetryIsOne(t *testing.T) {
	for _, name := range []string{
		"release", "redelivery+renewal", "three-acceptors+one-ballot+short-leases", "at-most-once+one-ballot",
		"asynchrony+one-ballot+short-leases",
	} {
		oneSymmetry(t, parse[Config](t, name))
	}
}

func TestNamedSymmetryIsOne(t *testing.T) {
	oneSymmetry(t, NamedConfig{Name: "base", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1,
		Ballots: 1, Lease: ms})
	oneSymmetry(t, NamedConfig{Name: "late", Clients: 2, Nodes: 1, Acceptors: 2, Names: 1, Acquisitions: 1, Asks: 1,
		Ballots: 1, Lease: ms, Async: true})
}

func TestRivalSymmetryIsOne(t *testing.T) {
	for _, name := range []string{"flease-retry", "majority-restart"} {
		c := parse[RivalConfig](t, name)
		c.Ticks, c.Draws = 2, 2
		c.Restarts, c.ProposerRestarts = min(c.Restarts, 1), 0
		oneSymmetry(t, c)
	}
}

func oneSymmetry(t *testing.T, w World) {
	t.Helper()
	with := explored(t, w, Limits{})
	m, _ := w.open()
	o := &orbits{model: m, perms: m.base().perms, classes: map[digest]bool{}}
	m.base().perms = o.perms[:1]
	without, _ := runModel(context.Background(), o, Limits{Workers: 1})
	if without.States <= with.States || len(o.classes) != with.States || with.Depth != without.Depth {
		t.Errorf("%s: %d states to depth %d, without symmetry %d to depth %d, in %d classes",
			w.label(), with.States, with.Depth, without.States, without.Depth, len(o.classes))
	}
	t.Logf("%s: %d classes of %d states", w.label(), with.States, without.States)
}

// orbits searches without the symmetry and notes the classes it would have made.
type orbits struct {
	model
	perms   []permutation
	classes map[digest]bool
}

type orbitExplorer struct {
	explorer
	o *orbits
}

func (o *orbits) explorer() explorer { return &orbitExplorer{o.model.explorer(), o} }

func (x *orbitExplorer) canonical(s *state) digest {
	n := *s
	base := x.o.base()
	base.perms = x.o.perms
	x.o.classes[x.explorer.canonical(&n)] = true
	base.perms = x.o.perms[:1]
	return x.explorer.canonical(s)
}
