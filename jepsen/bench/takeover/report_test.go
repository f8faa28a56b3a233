package takeover

import (
	"strings"
	"testing"
	"time"

	"tenure/jepsen/bench"
)

func TestDistribution(t *testing.T) {
	r := newReport(Config{Setup: bench.Setup{Nodes: 3}, TTL: time.Second})
	if r.Exclusion != 1031*time.Millisecond {
		t.Errorf("D_A(1s) is %v, and lease.md says 1031ms", r.Exclusion)
	}
	var all []sample
	for i := range 200 {
		all = append(all, sample{beyond: time.Duration(200-i) * time.Millisecond,
			renewals: []time.Duration{time.Duration(i) * time.Millisecond}})
	}
	row := r.add(Death, 7, all)
	want := Row{End: Death, Contenders: 7, Trials: 200, Min: time.Millisecond, Median: 100 * time.Millisecond,
		P90: 180 * time.Millisecond,
		P99: 198 * time.Millisecond, Max: 200 * time.Millisecond, Renewal: 99 * time.Millisecond}
	if row != want {
		t.Errorf("got %+v, want %+v", row, want)
	}
	var b strings.Builder
	if err := r.Table(&b); err != nil ||
		!strings.Contains(b.String(), "| death | 7 | 200 | 1.0 | 100.0 | 180.0 | 198.0 | 200.0 | 99.0 |") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

func TestConfigsThatMakeNoSense(t *testing.T) {
	good := Config{Setup: bench.Setup{Nodes: 3}, TTL: time.Second, Contenders: []int{1, 10}, Trials: 1, Names: 2}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no nodes":      func(c *Config) { c.Nodes = 0 },
		"no contenders": func(c *Config) { c.Contenders = nil },
		"too many":      func(c *Config) { c.Contenders = []int{mostWaiting} },
		"too short":     func(c *Config) { c.TTL = time.Millisecond },
		"no trials":     func(c *Config) { c.Trials = 0 },
	} {
		c := good
		change(&c)
		if c.Validate() == nil {
			t.Error(name)
		}
	}
}
