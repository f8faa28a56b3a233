package pinned

import (
	"strings"
	"testing"
	"time"

	"tenure/jepsen/bench"
)

// Ratios pair runs of one round; medians and ranges are over the rounds.
func TestRowsPairTheRounds(t *testing.T) {
	r := Report{}
	for round, x := range [][2]float64{{100, 50}, {300, 100}, {90, 90}} {
		r.add(sample{round: round, world: Apart, load: "put:1", arm: "all on", perSecond: x[0], p99: 1, used: 10})
		r.add(sample{round: round, world: Apart, load: "put:1", arm: "all off", perSecond: x[1], p99: 2, used: 20})
	}
	rows := r.Rows()
	if len(rows) != 2 || rows[0].Arm != "all on" || rows[0].Ratio != (Spread{1, 1, 1}) ||
		rows[0].PerSecond != (Spread{100, 90, 300}) {
		t.Errorf("%+v", rows)
	}
	if rows[1].Ratio != (Spread{2, 1, 3}) || rows[1].UsedRatio != (Spread{0.5, 0.5, 0.5}) {
		t.Errorf("%+v", rows[1])
	}
	var text strings.Builder
	if err := r.Table(&text); err != nil || !strings.Contains(text.String(), "2.00 (1.00–3.00)") {
		t.Errorf("%v\n%s", err, &text)
	}
	if got := spread([]float64{4, 1, 2, 3}); got != (Spread{2.5, 1, 4}) {
		t.Errorf("%+v", got)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	good := Config{Setup: bench.Setup{Nodes: 1}, Loads: []string{"put:1"}, Rounds: 1, Time: time.Second,
		NodeCores: []int{0}, LoadCores: []int{0}, Worlds: []string{Apart}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"nodes": func(c *Config) { c.Nodes = 8 }, "load": func(c *Config) { c.Loads = []string{"put"} },
		"operation": func(c *Config) { c.Loads = []string{"cas:3"} },
		"processor": func(c *Config) { c.LoadCores = []int{4096} },
		"world":     func(c *Config) { c.Worlds = []string{"own"} }, "none": func(c *Config) { c.NodeCores = nil },
	} {
		c := good
		if spoil(&c); c.Validate() == nil {
			t.Errorf("%s: nothing is wrong with %+v", name, c)
		}
	}
}
