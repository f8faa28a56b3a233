package explore

import (
	"context"
	"strings"
	"testing"
	"time"
)

func exploredRival(t *testing.T, c RivalConfig) Result {
	t.Helper()
	r, err := RunRival(context.Background(), c, Limits{MaxStates: 5_000_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s: %d states, depth %d, %d blocked", c.Name, r.Verdict(), r.States, r.Depth, r.Blocked)
	return r
}

func parseRival(t *testing.T, name string) RivalConfig {
	t.Helper()
	c, err := ParseRival(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Within what they ask of clocks, neither Flease nor the majority vote has two owners; and the vote blocks.
func TestExploreRivalsShort(t *testing.T) {
	for name, blocks := range map[string]bool{"flease-retry": false, "majority": true} {
		if r := exploredRival(t, parseRival(t, name)); !r.Complete() || r.States < 10_000 || (r.Blocked > 0) != blocks {
			var b strings.Builder
			r.Print(&b)
			t.Errorf("go run ./jepsen explore --config %s\n%s", name, b.String())
		}
	}
}

func TestExploreRivalsLong(t *testing.T) {
	if !*longScale {
		t.Skip("minutes: run it with -long, or search further with go run ./jepsen explore")
	}
	for _, name := range []string{"flease", "flease-lost-replies", "flease-shift", "flease-restart", "flease-proposer-restart",
		"majority-lost-replies", "majority-restart", "majority-3-proposers"} {
		if r := exploredRival(t, parseRival(t, name)); !r.Complete() {
			t.Errorf("%s: %s", name, r.Verdict())
		}
	}
}

// Beyond ε there are two owners; at ε there are not. So the clocks of the model are where they are said to be.
func TestFleaseBreaksBeyondSkew(t *testing.T) {
	r := exploredRival(t, parseRival(t, "flease-beyond-skew"))
	if r.Violation != "two owners" || len(r.Trace) == 0 || !strings.Contains(r.Trace[len(r.Trace)-1].Line, "OWNS") {
		t.Fatalf("beyond ε: %s, %d steps", r.Verdict(), len(r.Trace))
	}
	c := parseRival(t, "flease-beyond-skew")
	c.Ahead, c.Draws = []time.Duration{0, ms, 0, 0, 0}, 2
	if r := exploredRival(t, c); !r.Complete() {
		t.Fatalf("at ε: %s", r.Verdict())
	}
}

// The story of the paper's introduction: three proposers, each with one vote.
func TestMajorityBlocks(t *testing.T) {
	r := exploredRival(t, parseRival(t, "majority-blocked"))
	if r.Violation != "nobody can own until a vote has run out" || len(r.Trace) != 6 {
		t.Fatalf("%s", r.Verdict())
	}
}

// Somebody owns, and leases are renewed and change hands, or a clean search proves nothing.
func TestRivalsOwn(t *testing.T) {
	for _, name := range []string{"flease-retry", "majority"} {
		l := newRivalModel(parseRival(t, name))
		if _, out := runModel(context.Background(), l, Limits{}); out.what != "" {
			t.Fatal(out.what)
		}
		var owners [maxProposers]bool
		renewed := false
		for id := uint32(1); id <= l.proposers.n; id++ {
			x := l.proposers.get(id)
			owners[x.who] = owners[x.who] || x.standing.held
			renewed = renewed || x.standing.held && x.draws == 2
		}
		if !owners[0] || !owners[1] || !renewed {
			t.Errorf("%s: owners %v, owner by a second attempt %v", name, owners, renewed)
		}
	}
}

// The symmetry loses nothing: what is found without it falls into exactly the classes found with it.
func TestRivalSymmetryIsOne(t *testing.T) {
	for _, name := range []string{"flease-retry", "majority-restart"} {
		c := parseRival(t, name)
		c.Ticks, c.Draws = 2, 2
		c.Restarts, c.ProposerRestarts = min(c.Restarts, 1), 0
		with := exploredRival(t, c)
		l := newRivalModel(c)
		s := &rivalOrbits{rivalModel: l, perms: l.perms, classes: map[digest]bool{}}
		l.perms = l.perms[:1]
		without, _ := runModel(context.Background(), s, Limits{Workers: 1})
		if without.States <= with.States || len(s.classes) != with.States {
			t.Errorf("%s: %d states, without symmetry %d in %d classes", name, with.States, without.States, len(s.classes))
		}
	}
}

// rivalOrbits searches without the symmetry and notes the classes it would have made.
type rivalOrbits struct {
	*rivalModel
	perms   []permutation
	classes map[digest]bool
}

type rivalOrbitExplorer struct {
	*rivalExplorer
	o *rivalOrbits
}

func (o *rivalOrbits) explorer() explorer {
	return &rivalOrbitExplorer{o.rivalModel.explorer().(*rivalExplorer), o}
}

func (x *rivalOrbitExplorer) canonical(s *state) digest {
	n := *s
	x.l.perms = x.o.perms
	x.o.classes[x.rivalExplorer.canonical(&n)] = true
	x.l.perms = x.o.perms[:1]
	return x.rivalExplorer.canonical(s)
}
