package sim

import "testing"

// TestQuarantinedNodesAreNotWell: a node counts for a majority that is well only when its acceptor serves again.
func TestQuarantinedNodesAreNotWell(t *testing.T) {
	w := newWorld(Config{Seed: 1, Without: allFaults})
	w.progress.start()
	until := func(what string, ok func() bool) {
		t.Helper()
		for range 100_000 {
			if ok() {
				return
			}
			w.step()
		}
		t.Fatalf("never: %s", what)
	}
	n, truth := w.nodes[0], &w.progress.truths[0]
	until("the first start is well at once", func() bool { return truth.since > 0 })
	n.crash()
	n.restart(0, false)
	until("the node starts again", n.up)
	run, left := n.run, n.elector.elector.QuarantineLeft(n.reading())
	if left == 0 {
		t.Fatal("no quarantine")
	}
	over := w.now + left
	until("the node is well", func() bool { return truth.since > 0 && truth.run == run })
	if n.run != run || truth.since < over {
		t.Errorf("it counts from %v, and its acceptor keeps silent until %v", truth.since, over)
	}
}
