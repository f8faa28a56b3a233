package simulator

import (
	"context"
	"flag"
	"testing"

	"tenure/jepsen/sim"
)

var (
	first   = flag.Uint64("first", 1, "first seed to play")
	seeds   = flag.Int("seeds", 0, "seeds to play")
	members = flag.Bool("members", false, "the members of the clusters change")
	steps   = flag.Int("steps", 0, "steps of each seed (0: as many as the simulator plays by itself)")
)

// TestSim fails if one of the seeds does.
func TestSim(t *testing.T) {
	if *seeds == 0 {
		t.Skip("no -seeds")
	}
	r := sim.Search{Start: *first, Seeds: *seeds, Steps: *steps, Members: *members}.Run(context.Background())
	t.Log(r.String())
	if r.Failed != nil {
		t.Errorf("violation: seed %d after %d steps: %v", r.Failed.Config.Seed, r.Failed.Steps, r.Failed.Failure)
	}
}
