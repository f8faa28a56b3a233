package run

import (
	"context"
	"io"
	"testing"
	"time"
)

// TestSabotageIsFound runs clusters that lose one acknowledged write in a thousand, or serve one read in a thousand
// stale. Each run must fail for that reason, and the same run without sabotage must hold.
func TestSabotageIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes for some seconds")
	}
	for _, c := range []struct{ workload, sabotage, verdict string }{
		{"append", lostWrites, Violation},
		{"counter", staleReads, Violation},
		{"append", "", Held},
	} {
		r := sabotaged(t, c.workload, c.sabotage)
		if r.Verdict != c.verdict || (c.sabotage != "" && r.Sabotaged == 0) {
			t.Errorf("%s with %q: %d lies told: %s", c.workload, c.sabotage, r.Sabotaged, r.Line())
		}
	}
}

// sabotaged is a run that told a lie, if it was to: a machine that does less than a thousand operations in the usual
// time is given more.
func sabotaged(t *testing.T, workload, sabotage string) (r Result) {
	t.Helper()
	for d := 5 * time.Second; d <= 40*time.Second; d *= 2 {
		var err error
		r, err = Run(context.Background(), Config{Workload: workload, Nemesis: "none", Nodes: 3, Clients: 20, Time: d,
			Seed: 1, Sabotage: sabotage, Loopback: true, Dir: t.TempDir(), Out: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if sabotage == "" || r.Sabotaged > 0 {
			break
		}
	}
	return r
}

func TestARunThatTestedNothingFails(t *testing.T) {
	s := record{cfg: Config{Time: 10 * time.Second}}
	s.nemesis.MinOps, s.nemesis.MinFaults, s.nemesis.MinMasters = 20, 2, 0.5
	enough := Result{OK: 200, Writes: 20, Checked: 200, Faults: 2, Masters: 1}
	if verdict, reason := s.verdict(enough); verdict != Held {
		t.Errorf("just enough: %s: %s", verdict, reason)
	}
	for name, change := range map[string]func(*Result){
		"operations": func(r *Result) { r.OK-- },
		"writes":     func(r *Result) { r.Writes-- },
		"checked":    func(r *Result) { r.Checked-- },
		"faults":     func(r *Result) { r.Faults-- },
		"masters":    func(r *Result) { r.Masters-- },
	} {
		r := enough
		change(&r)
		if verdict, reason := s.verdict(r); verdict != Weak {
			t.Errorf("one too few %s: %s %s", name, verdict, reason)
		}
	}
}
