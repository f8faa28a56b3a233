package run

import (
	"context"
	"io"
	"testing"
	"time"
)

// TestSabotageIsFound runs clusters that lose one acknowledged write in a thousand, or serve one read in a thousand
// stale: each run must fail for that reason, and the same run without it must hold.
func TestSabotageIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes for some seconds")
	}
	for _, c := range []struct{ workload, sabotage, verdict string }{
		{"append", lostWrites, Violation},
		{"counter", staleReads, Violation},
		{"append", "", Held},
	} {
		r, err := Run(context.Background(), Config{Workload: c.workload, Nemesis: "none", Nodes: 3, Clients: 20, Time: 5 * time.Second,
			Seed: 1, Sabotage: c.sabotage, Loopback: true, Dir: t.TempDir(), Out: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.verdict || (c.sabotage != "" && r.Sabotaged == 0) {
			t.Errorf("%s with %q: %d lies told: %s", c.workload, c.sabotage, r.Sabotaged, r.Line())
		}
	}
}

func TestARunThatTestedNothingFails(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes for some seconds")
	}
	// No fault of a full cycle fits in a second, and no master can change as often as the nemesis asks for.
	r, err := Run(context.Background(), Config{Workload: "register", Nemesis: "kill-all", Nodes: 3, Clients: 1, Time: time.Second,
		Seed: 1, Loopback: true, Dir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	s := story{cfg: Config{Time: 10 * time.Second}}
	s.nemesis.MinOps, s.nemesis.MinFaults, s.nemesis.MinMasters = 20, 2, 1
	if got := s.minimums(r); len(got) < 3 {
		t.Errorf("%s: %v", r.Line(), got)
	}
}
