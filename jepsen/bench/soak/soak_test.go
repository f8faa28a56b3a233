package soak

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// good is a report in which nothing is wrong.
func good() Report {
	half := Half{Ops: 1000, Seconds: 1, OpsPerS: 1000, P50: 1, P99: 5, P999: 10, Max: 20}
	return Report{
		Took: time.Minute, Clients: 64, Keys: 1000, ValueSize: 256, Archive: true, Halves: [2]Half{half, half}, Looks: 20,
		Files: map[string]int64{"state.db": 1 << 20},
		Samples: []Sample{
			{Nodes: []int64{1 << 20, 2 << 20, 1 << 20}, Lag: 1},
			{At: time.Minute, Nodes: []int64{3 << 20, 2 << 20, 1 << 20}, Lag: 0.5},
		},
	}
}

func TestCheck(t *testing.T) {
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for says, spoil := range map[string]func(*Report){
		"errors":      func(r *Report) { r.Halves[1].Errors = 1 },
		"0 writes":    func(r *Report) { r.Halves[0].Ops = 0 },
		"its bound":   func(r *Report) { r.Samples[1].Nodes[2] = r.bound() + 1 },
		"second half": func(r *Report) { r.Halves[1].P999 = 16 },
		"behind":      func(r *Report) { r.Samples[0].Lag = 5.1 },
		"looked":      func(r *Report) { r.Looks = 1 },
	} {
		r := good()
		spoil(&r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

func TestTableAndPlot(t *testing.T) {
	var out bytes.Buffer
	if err := good().Table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.00 times", "3 MiB (node 1)", "lagged by at most | 1.0 s", "`state.db` | 1 MiB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	svg, err := good().plot().SVG()
	if err != nil || !bytes.Contains(svg, []byte("node 3")) || !bytes.Contains(svg, []byte("bound")) {
		t.Errorf("%v: %.200s", err, svg)
	}
}

func TestManySamplesAreOnePointEach(t *testing.T) {
	r := good()
	for i := range 5000 {
		r.Samples = append(r.Samples, Sample{At: time.Duration(i) * time.Second, Nodes: []int64{int64(i), 1, 1}})
	}
	line := r.plot().Lines[0]
	if len(line.Points) > mostPoints || line.Points[len(line.Points)-1].Y < 4999.0/(1<<20) {
		t.Errorf("%d points, the last at %v", len(line.Points), line.Points[len(line.Points)-1])
	}
}

// TestListingsAreCompared: what a key has left to live is no difference, everything else is.
func TestListingsAreCompared(t *testing.T) {
	one, n, err := withoutTimes([]byte(`[{"Key":"a","Value":"eA==","ModifyIndex":4,"ExpiresIn":"2s"}]`))
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	for body, same := range map[string]bool{
		`[{"Key":"a","Value":"eA==","ModifyIndex":4,"ExpiresIn":"3s"}]`: true,
		`[{"Key":"a","Value":"eA==","ModifyIndex":5,"ExpiresIn":"2s"}]`: false,
		`[{"Key":"a","Value":"eQ==","ModifyIndex":4,"ExpiresIn":"2s"}]`: false,
		``: false,
	} {
		other, _, err := withoutTimes([]byte(body))
		if err != nil || bytes.Equal(one, other) != same {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, _, err := withoutTimes([]byte("no listing")); err == nil {
		t.Error("what is no listing was taken")
	}
}
