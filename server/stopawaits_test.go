package server

import (
	"testing"
	"time"
)

// A node that is told to stop right after another was started waits until that one votes for a master again. It does
// not wait for nodes that are gone.
func TestAStopWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	const wait = 20 * time.Second
	hosts := startCluster(t, 3, func(c *Config) { c.LeaseTime, c.MaxLeaseTime, c.StopWait = 2*time.Second, 2*time.Second, wait })
	master(t, hosts)
	for _, h := range hosts {
		h.until(t, "able to go", func() bool { a := h.status(t).Absence; return a != nil && a.Harmless })
	}
	first, second, last := hosts[0], hosts[1], hosts[2]
	first.stop(t)
	last.until(t, "missed", func() bool { a := last.status(t).Absence; return !a.Harmless && a.WaitMS == -1 && a.Why != "" })
	first.start(t)
	first.awaitReady(t)
	if left := first.status(t).Lease.QuarantineMS; left < 500 {
		t.Fatalf("the node that was started is silent for %d ms: too little to see who waits for it", left)
	}
	second.stop(t)
	if left := first.status(t).Lease.QuarantineMS; left > 0 {
		t.Errorf("the next node has stopped, and the one before is silent for another %d ms", left)
	}
	began := time.Now()
	last.stop(t)
	if took := time.Since(began); took > wait/2 {
		t.Errorf("the last node has waited %v for nobody", took)
	}
}
