package install

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Requests are sorted by the revision that they saw, not by the time of the answer to the upload.
func TestTrialFindsTheRequestThatWaitedForTheInstall(t *testing.T) {
	zero := time.Unix(0, 0)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	p := probes{all: []*prober{
		{method: http.MethodPut, made: []request{{at(0), at(1), 5}, {at(20), at(23), 6}, {at(30), at(70), 100},
			{at(71), at(80), 101}}},
		{method: http.MethodGet, made: []request{{at(0), at(2), 5}, {at(90), at(95), 100}}},
	}}
	got := p.trial(at(10), at(60), 100)
	var out strings.Builder
	if err := (Report{Trials: []Trial{got, got}}).Table(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"median 0.05 s", "put before 2 1.0 1.0 1.0", "put upload 2 3.0 3.0 3.0",
		"put install 2 40.0 40.0 40.0", "get before 2 2.0 2.0 2.0", "get upload 0 0.0", "get install 2 5.0 5.0 5.0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Config{Keys: 9900, ValueBytes: 700, Trials: 3}
	good.Nodes = 3
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Nodes = 0 }, func(c *Config) { c.Trials = 0 }, func(c *Config) { c.Keys = 10_000 },
		func(c *Config) { c.ValueBytes = 900 }, func(c *Config) { c.ValueBytes = -1 },
	} {
		bad := good
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
