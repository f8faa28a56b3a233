package explorer

import (
	"context"
	"flag"
	"testing"

	"tenure/jepsen/explore"
)

var (
	config = flag.String("config", "", "configuration to explore")
	states = flag.Int("states", 3_000_000, "the most states to explore")
)

// TestExplore fails if something is broken, and prints the trace. A search that a bound stopped is no failure: the
// unchanged code breaks nothing within the bound either.
func TestExplore(t *testing.T) {
	if *config == "" {
		t.Skip("no -config")
	}
	r, err := explore.RunNamed(context.Background(), *config, explore.Limits{MaxStates: *states, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", *config, r.Verdict())
	if r.Violation == "" {
		return
	}
	t.Errorf("violation: %s: %d states, %d steps", r.Violation, r.States, len(r.Trace))
	for i, s := range r.Trace {
		t.Logf("%3d %s", i+1, s.Line)
	}
}
