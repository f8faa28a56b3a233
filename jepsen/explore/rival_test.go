package explore

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Within what they ask of clocks, neither Flease nor the majority vote has two owners; and the vote blocks.
func TestExploreRivalsShort(t *testing.T) {
	for name, blocks := range map[string]bool{"flease-retry": false, "majority": true} {
		if r := clean(t, name); r.States < 10_000 || (r.Blocked > 0) != blocks {
			t.Errorf("%s: %d states, %d blocked", name, r.States, r.Blocked)
		}
	}
}

func TestExploreRivalsLong(t *testing.T) {
	if !*longScale {
		t.Skip("minutes: run it with -long, or search further with go run ./jepsen explore")
	}
	for _, name := range []string{"flease", "flease-lost-replies", "flease-shift", "flease-restart",
		"flease-proposer-restart",
		"majority-lost-replies", "majority-restart", "majority-3-proposers"} {
		clean(t, name)
	}
}

// Beyond ε there are two owners; at ε there are not. So the clocks of the model are where they are said to be.
func TestFleaseBreaksBeyondSkew(t *testing.T) {
	r := explored(t, parse[RivalConfig](t, "flease-beyond-skew"), Limits{})
	if r.Violation != "two owners" || len(r.Trace) == 0 || !strings.Contains(r.Trace[len(r.Trace)-1].Line, "OWNS") {
		t.Fatalf("beyond ε: %s, %d steps", r.Verdict(), len(r.Trace))
	}
	c := parse[RivalConfig](t, "flease-beyond-skew")
	c.Ahead, c.Draws = []time.Duration{0, ms, 0, 0, 0}, 2
	if r := explored(t, c, Limits{}); !r.Complete() {
		t.Fatalf("at ε: %s", r.Verdict())
	}
}

// The story of the paper's introduction: three proposers, each with one vote.
func TestMajorityBlocks(t *testing.T) {
	r := explored(t, parse[RivalConfig](t, "majority-blocked"), Limits{})
	if r.Violation != "nobody can own until a vote has run out" || len(r.Trace) != 6 {
		t.Fatalf("%s", r.Verdict())
	}
}

// Somebody owns, and leases are renewed and change hands, or a clean search proves nothing.
func TestRivalsOwn(t *testing.T) {
	for _, name := range []string{"flease-retry", "majority"} {
		l := newRivalModel(parse[RivalConfig](t, name))
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
