package sweep

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/cmd/kvctl/bench"
)

var update = flag.Bool("update", false, "write the pictures that are drawn now to testdata")

// The pictures of a kept file are always the same.
func TestPicturesOfAKeptFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "clients.json")
	kept, err := os.ReadFile("testdata/clients.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, kept, 0o644); err != nil {
		t.Fatal(err)
	}
	pictures, err := Plot(name)
	if err != nil || len(pictures) != 2 {
		t.Fatal(pictures, err)
	}
	for _, p := range pictures {
		got, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", filepath.Base(p))
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("differs from %s (%v); if the new one is right: go test ./cmd/kvctl/sweep -update", golden, err)
		}
	}
}

func result(op string, clients int, perSecond, p50, p99 float64) bench.Result {
	return bench.Result{Op: op, Clients: clients, Nodes: 3, Keys: 10_000, ValueSize: 256, Ops: 1, OpsPerS: perSecond, Latency: bench.Latency{P50: p50, P99: p99}}
}

func TestCharts(t *testing.T) {
	f := File{Series: "clients", Started: time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC), System: "linux/amd64, 2 CPUs", Results: []bench.Result{
		result("put", 4, 300, 2, 20), result("get", 4, 900, 0.5, 3), result("put", 4, 100, 1, 10), result("put", 4, 200, 3, 30),
		result("put", 1, 90, 1, 9), {Op: "put", Clients: 8, Errors: 7},
	}}
	throughput, latency, err := f.charts()
	if err != nil {
		t.Fatal(err)
	}
	if len(throughput.Lines) != 2 || len(latency.Lines) != 4 || throughput.Y.Log || !latency.Y.Log || !throughput.X.Log {
		t.Fatalf("%+v %+v", throughput, latency)
	}
	put := throughput.Lines[0].Points
	if len(put) != 2 || put[0].X != 1 || put[1].X != 4 || put[1].Y != 200 || put[1].Low != 100 || put[1].High != 300 {
		t.Errorf("%+v", put)
	}
	if p := latency.Lines[1]; p.Name != "put p99" || !p.Dashed || p.Points[1].Y != 20 {
		t.Errorf("%+v", p)
	}
	if s := throughput.Subtitle; s != "3 nodes, 256 B values, 10 k keys, 2026-11-21, one machine: linux/amd64, 2 CPUs; 7 requests failed" {
		t.Error(s)
	}
	f.Results = append(f.Results, result("get", 1, 5000, 1, 1))
	if throughput, _, _ = f.charts(); !throughput.Y.Log {
		t.Error("from 90 to 5,000 without a logarithm")
	}
}

// A plan without a cluster: what would be started and measured, in order.
type script struct {
	lines []string
	fail  string // the line whose measurement fails
}

func (s *script) plan(series Series, repeat int) Plan {
	return Plan{
		Series: series, Repeat: repeat, Usual: bench.Config{Duration: time.Second, Timeout: time.Second},
		Start: func(_ context.Context, nodes int) (Cluster, error) {
			s.lines = append(s.lines, fmt.Sprintf("start %d", nodes))
			return Cluster{slices.Repeat([]string{"http://h:1"}, nodes), func() error { s.lines = append(s.lines, "stop"); return nil }}, nil
		},
		Measure: func(_ context.Context, c bench.Config) (bench.Result, error) {
			if err := c.Validate(); err != nil {
				return bench.Result{}, err
			}
			line := fmt.Sprintf("%s n%d c%d k%d v%d", c.Op, len(c.Endpoints), c.Clients, c.Keys, c.ValueSize)
			if c.Fill {
				line += fmt.Sprintf(" fill from %d", c.FillFrom)
			}
			s.lines = append(s.lines, line)
			if line == s.fail {
				return bench.Result{}, errors.New("broken")
			}
			return bench.Result{Op: c.Op}, nil
		},
		Each: func(r bench.Result) error { s.lines = append(s.lines, "keep "+r.Op); return nil },
	}
}

func find(t *testing.T, name string, points ...int) Series {
	t.Helper()
	s, err := Find(name)
	if err == nil && points != nil {
		s, err = s.At(points)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPlans(t *testing.T) {
	for _, x := range []struct {
		series Series
		repeat int
		want   string
	}{
		{find(t, "nodes", 3, 1), 1, `start 1
			put n1 c64 k10000 v256 fill from 0; keep put; get n1 c64 k10000 v256; keep get; stop; start 3
			put n3 c64 k10000 v256 fill from 0; keep put; get n3 c64 k10000 v256; keep get; stop`},
		{find(t, "keys", 10, 100), 2, `start 3
			put n3 c64 k10 v256 fill from 0; keep put; get n3 c64 k10 v256; keep get; put n3 c64 k10 v256; keep put; get n3 c64 k10 v256; keep get
			put n3 c64 k100 v256 fill from 10; keep put; get n3 c64 k100 v256; keep get; put n3 c64 k100 v256; keep put; get n3 c64 k100 v256; keep get
			stop`},
		{find(t, "value-size", 16, 262144), 1, `start 3
			put n3 c64 k10000 v16 fill from 0; keep put; get n3 c64 k10000 v16; keep get
			put n3 c64 k256 v262144 fill from 0; keep put; get n3 c64 k256 v262144; keep get
			stop`},
		{find(t, "clients", 1024), 1, `start 3; put n3 c1024 k10000 v256 fill from 0; keep put; get n3 c1024 k10000 v256; keep get; stop`},
	} {
		var s script
		if err := s.plan(x.series, x.repeat).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.FieldsFuncSeq(x.want, func(r rune) bool { return r == ';' || r == '\n' }) {
			want = append(want, strings.TrimSpace(line))
		}
		if !slices.Equal(s.lines, want) {
			t.Errorf("%s:\n%s\nwant\n%s", x.series.Name, strings.Join(s.lines, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A cluster does not outlive a failed measurement, and what came before it is kept.
func TestPlanStopsItsCluster(t *testing.T) {
	s := script{fail: "get n3 c4 k10000 v256"}
	err := s.plan(find(t, "clients", 4, 8), 1).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "get at 4 clients: broken") {
		t.Error(err)
	}
	if want := []string{"start 3", "put n3 c4 k10000 v256 fill from 0", "keep put", s.fail, "stop"}; !slices.Equal(s.lines, want) {
		t.Errorf("%q", s.lines)
	}
}

func TestEverySeriesCanBeMeasured(t *testing.T) {
	for _, s := range All {
		if err := s.Check(bench.Config{Duration: time.Second, Timeout: time.Second}); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	for want, s := range map[string]Series{"at most 7": find(t, "nodes", 8), "--clients": find(t, "clients", 100_000), "--value-size": find(t, "value-size", 1<<30)} {
		if err := s.Check(bench.Config{Duration: time.Second, Timeout: time.Second}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := find(t, "keys").At([]int{0}); err == nil {
		t.Error("no keys at all")
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{"{": "is not of", `{"series":"moon"}`: "no series"} {
		name := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
