package explore

import (
	"context"
	"strings"
	"testing"
)

func exploredNamed(t *testing.T, name string, max int) Result {
	t.Helper()
	c, err := ParseNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RunNamedLeases(context.Background(), c, Limits{MaxStates: max})
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation != "" {
		var b strings.Builder
		r.Print(&b)
		t.Fatalf("go run ./jepsen explore --config %s\n%s", name, b.String())
	}
	t.Logf("%s: %s: %d states, depth %d", name, r.Verdict(), r.States, r.Depth)
	return r
}

func TestExploreNamedShort(t *testing.T) {
	for _, name := range []string{"named-base", "named-own-eras-retry"} {
		if r := exploredNamed(t, name, 0); !r.Complete() || r.States < 5000 {
			t.Errorf("%s: %s, %d states", name, r.Verdict(), r.States)
		}
	}
}

// These take too long to be finished in a test; what breaks soon shows.
func TestExploreNamedBounded(t *testing.T) {
	for _, name := range []string{"named-sweep", "named-renewal", "named-restart", "named-two-names"} {
		exploredNamed(t, name, 20_000)
	}
}

// The world does what it is for: somebody comes to hold, and somebody else after that.
func TestNamedLeasesAreHeld(t *testing.T) {
	c, err := ParseNamed("named-base")
	if err != nil {
		t.Fatal(err)
	}
	l := newNamedModel(c)
	runModel(context.Background(), l, Limits{})
	first, second := false, false
	for id := uint32(1); id <= l.pasts.n; id++ {
		h := l.pasts.get(id).names[0]
		first, second = first || h.last > 0, second || h.earlier > 0
	}
	if !first || !second {
		t.Errorf("held once %v, twice %v", first, second)
	}
}

// The symmetry loses nothing: as TestSymmetryIsOne, for named leases.
func TestNamedSymmetryIsOne(t *testing.T) {
	for _, c := range []NamedConfig{
		{Name: "base", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1, Lease: ms},
		{Name: "late", Clients: 2, Nodes: 1, Acceptors: 2, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1, Lease: ms, Async: true},
	} {
		with, _ := runModel(context.Background(), newNamedModel(c), Limits{})
		l := newNamedModel(c)
		s := &namedOrbits{namedModel: l, perms: l.perms, classes: map[digest]bool{}}
		l.perms = l.perms[:1]
		without, _ := runModel(context.Background(), s, Limits{Workers: 1})
		if without.States <= with.States || len(s.classes) != with.States || with.Depth != without.Depth {
			t.Errorf("%s: %d states to depth %d, without symmetry %d to depth %d, in %d classes", c.Name, with.States, with.Depth, without.States, without.Depth, len(s.classes))
		}
		t.Logf("%s: %d classes of %d states", c.Name, with.States, without.States)
	}
}

type namedOrbits struct {
	*namedModel
	perms   []permutation
	classes map[digest]bool
}

type namedOrbitExplorer struct {
	*namedExplorer
	o *namedOrbits
}

func (o *namedOrbits) explorer() explorer {
	return &namedOrbitExplorer{o.namedModel.explorer().(*namedExplorer), o}
}

func (x *namedOrbitExplorer) canonical(s *state) digest {
	n := *s
	x.l.perms = x.o.perms
	x.o.classes[x.namedExplorer.canonical(&n)] = true
	x.l.perms = x.o.perms[:1]
	return x.namedExplorer.canonical(s)
}

// A trace can be told: with clocks that nobody minds, two hold at once, and the way there is shown.
func TestNamedTraceIsTold(t *testing.T) {
	c, err := ParseNamed("named-base")
	if err != nil {
		t.Fatal(err)
	}
	l := newNamedModel(c)
	_, out := runModel(context.Background(), &heldOnce{l}, Limits{})
	if out.what == "" {
		t.Fatal("nobody ever holds")
	}
	steps := retrace(&heldOnce{l}, &namedTeller{l}, out)
	if len(steps) < 6 || !strings.Contains(steps[len(steps)-1].Line, "HOLDS") || !strings.Contains(steps[0].Script, "acquire through") {
		t.Errorf("%d steps: %+v", len(steps), steps)
	}
}

// heldOnce calls it broken that somebody holds.
type heldOnce struct{ *namedModel }

type heldOnceExplorer struct{ *namedExplorer }

func (m *heldOnce) explorer() explorer {
	return &heldOnceExplorer{m.namedModel.explorer().(*namedExplorer)}
}

func (x *heldOnceExplorer) broken(s *state) string {
	for i := range x.l.c.Clients {
		if x.l.clients.get(s[atClients+i]).held {
			return "somebody holds"
		}
	}
	return ""
}
