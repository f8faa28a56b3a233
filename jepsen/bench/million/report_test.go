package million

import (
	"strings"
	"testing"
	"time"

	"tenure/jepsen/bench"
)

// good is a report with which nothing is wrong: an idle cluster writes 100 bytes a second, and so did this one.
func good() Report {
	others := Latency{Operations: 1000}
	return Report{Leases: 10_000, IdleTime: 10 * time.Second, IdleWrites: 1000, Acquire: phase(10_000, 20*time.Second),
		Renew:         phase(10_000, 10*time.Second),
		AcquireWrites: 2000, RenewWrites: 1000,
		Nodes: []NodeCost{{Node: 1, Records: 10_000}, {Node: 2, Records: 9_950}}, Quiet: others, Expiry: others}
}

func TestChecksOfAReport(t *testing.T) {
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for words, change := range map[string]func(*Report){
		"node 2 knew of 9000":        func(r *Report) { r.Nodes[1].Records = 9000 },
		"1.00 bytes were written":    func(r *Report) { r.RenewWrites += 20_000 },
		"other clients did 1000 and": func(r *Report) { r.Expiry.Operations = 99 },
	} {
		r := good()
		change(&r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestLeftEndsAtTheCommonEnd: what is left, stretched as acceptors do, is the time to the end.
func TestLeftEndsAtTheCommonEnd(t *testing.T) {
	m := &measurement{end: time.Now().Add(5 * time.Minute)}
	ttl := m.left()
	stretched := ttl*(million+bench.DriftPPM)/(million-bench.DriftPPM) + bench.Margin
	if off := time.Until(m.end) - stretched; off > time.Second || off < -time.Second {
		t.Errorf("a TTL of %v ends %v before the common end", ttl, off)
	}
}
