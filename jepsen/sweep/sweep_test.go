package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/jepsen/chart"
)

// texts are the texts in a picture, which must be well-formed and have only finite numbers.
func texts(t *testing.T, svg []byte) (out []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for in := ""; ; {
		token, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			in = x.Name.Local
			for _, a := range x.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %v", in, a)
				}
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(x)); in == "text" && text != "" {
				out = append(out, text)
			}
		}
	}
}

// The charts of a kept file are always the same, and show all that there is.
func TestDraw(t *testing.T) {
	name := filepath.Join(t.TempDir(), "clients.json")
	kept, err := os.ReadFile("testdata/clients.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, kept, 0o644); err != nil {
		t.Fatal(err)
	}
	shown := map[string][]string{
		"throughput": {"Throughput by clients", "clients, log scale", "operations a second, log scale", "put", "get",
			"1", "8", "64", "10 k"},
		"latency": {"Latency by clients", "clients, log scale", "milliseconds, log scale", "put p50", "get p99", "1",
			"8", "64", "100"},
	}
	var before [][]byte
	for range 2 {
		charts, err := Draw(name)
		if err != nil || len(charts) != 2 {
			t.Fatal(charts, err)
		}
		for i, what := range []string{"throughput", "latency"} {
			svg, err := os.ReadFile(charts[i])
			if err != nil || charts[i] != strings.TrimSuffix(name, ".json")+"-"+what+".svg" {
				t.Fatal(charts[i], err)
			}
			got := texts(t, svg)
			for _, want := range append(shown[what],
				"3 nodes, 256 B values, 10 k keys, 2026-11-21, one machine: linux/amd64, 2 CPUs") {
				if !slices.Contains(got, want) {
					t.Errorf("%s: %q is not among %q", what, want, got)
				}
			}
			if before = append(before, svg); len(before) > 2 && !bytes.Equal(before[i], svg) {
				t.Errorf("two drawings of one %s differ", what)
			}
		}
	}
}

func TestChartsThatCannotBeDrawn(t *testing.T) {
	if _, err := (chart.Chart{}).SVG(); !errors.Is(err, chart.ErrEmpty) {
		t.Error(err)
	}
	one := chart.Chart{X: chart.Axis{Format: chart.Number}, Y: chart.Axis{Log: true, Format: chart.Number},
		Lines: []chart.Line{{Name: "put", Color: colors[put], Points: []chart.Point{{X: 1, Y: 10, Low: 10, High: 10}}}}}
	svg, err := one.SVG()
	if err != nil || len(texts(t, svg)) == 0 {
		t.Errorf("a single point: %v", err)
	}
}

func result(op string, clients int, perSecond, p50, p99 float64) json.RawMessage {
	return fmt.Appendf(nil, `{"op":%q,"clients":%d,"nodes":3,"keys":10000,"value_size":256,"ops":1,"ops_per_s":%v,`+
		`"p50_ms":%v,"p99_ms":%v}`, op, clients, perSecond, p50, p99)
}

func TestCharts(t *testing.T) {
	f := File{Series: "clients", Started: time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC), System: "linux/amd64, 2 CPUs",
		Results: []json.RawMessage{
			result("put", 4, 300, 2, 20), result("get", 4, 900, 0.5, 3), result("put", 4, 100, 1, 10),
			result("put", 4, 200, 3, 30),
			result("put", 1, 90, 1, 9), json.RawMessage(`{"op":"put","clients":8,"errors":7}`),
		}}
	throughput, latency, err := f.charts()
	if err != nil {
		t.Fatal(err)
	}
	if len(throughput.Lines) != 2 || len(latency.Lines) != 4 || throughput.Y.Log || !latency.Y.Log ||
		!throughput.X.Log {
		t.Fatalf("%+v %+v", throughput, latency)
	}
	puts := throughput.Lines[0].Points
	if len(puts) != 2 || puts[0].X != 1 || puts[1] != (chart.Point{X: 4, Y: 200, Low: 100, High: 300}) {
		t.Errorf("%+v", puts)
	}
	if p := latency.Lines[1]; p.Name != "put p99" || !p.Dashed || p.Points[1].Y != 20 {
		t.Errorf("%+v", p)
	}
	if s := throughput.Subtitle; s != "3 nodes, 256 B values, 10 k keys, 2026-11-21, one machine: linux/amd64, 2 "+
		"CPUs; 7 requests failed" {
		t.Error(s)
	}
	f.Results = append(f.Results, result("get", 1, 5000, 1, 1))
	if throughput, _, _ = f.charts(); !throughput.Y.Log {
		t.Error("from 90 to 5,000 without a logarithm")
	}
}

// script notes what a plan starts and measures, in order.
type script struct {
	lines []string
	fail  string // the line whose measurement fails
}

func (s *script) plan(series Series, repeat int) Plan {
	return Plan{
		Series: series, Repeat: repeat,
		Start: func(_ context.Context, nodes int) (Cluster, error) {
			s.lines = append(s.lines, fmt.Sprintf("start %d", nodes))
			return Cluster{
				Measure: func(_ context.Context, l Load) ([]byte, error) {
					line := fmt.Sprintf("%s c%d k%d v%d", l.Op, l.Clients, l.Keys, l.ValueSize)
					if l.Fill {
						line += " fill"
					}
					s.lines = append(s.lines, line)
					if line == s.fail {
						return nil, errors.New("broken")
					}
					return []byte(l.Op), nil
				},
				Stop: func() error { s.lines = append(s.lines, "stop"); return nil },
			}, nil
		},
		Each: func(r []byte) error { s.lines = append(s.lines, "keep "+string(r)); return nil },
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
			put c64 k10000 v256 fill; keep put; get c64 k10000 v256; keep get; stop; start 3
			put c64 k10000 v256 fill; keep put; get c64 k10000 v256; keep get; stop`},
		{find(t, "keys", 10, 100), 2, `start 3
			put c64 k10 v256 fill; keep put; get c64 k10 v256; keep get
			put c64 k10 v256; keep put; get c64 k10 v256; keep get
			put c64 k100 v256 fill; keep put; get c64 k100 v256; keep get
			put c64 k100 v256; keep put; get c64 k100 v256; keep get
			stop`},
		{find(t, "value-size", 16, 262144), 1, `start 3
			put c64 k10000 v16 fill; keep put; get c64 k10000 v16; keep get
			put c64 k256 v262144 fill; keep put; get c64 k256 v262144; keep get
			stop`},
		{find(t, "clients", 1024), 1,
			`start 3; put c1024 k10000 v256 fill; keep put; get c1024 k10000 v256; keep get; stop`},
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
	s := script{fail: "get c4 k10000 v256"}
	err := s.plan(find(t, "clients", 4, 8), 1).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "get at 4 clients: broken") {
		t.Error(err)
	}
	want := []string{"start 3", "put c4 k10000 v256 fill", "keep put", s.fail, "stop"}
	if !slices.Equal(s.lines, want) {
		t.Errorf("%q", s.lines)
	}
}

func TestPointsThatCannotBeMeasured(t *testing.T) {
	for _, s := range All {
		if x, err := s.At(s.Points); err != nil || !slices.Equal(x.Points, s.Points) {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, p := range []int{0, -1, s.Most + 1} {
			if _, err := s.At([]int{p}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--points %d", p)) {
				t.Errorf("%s at %d: %v", s.Name, p, err)
			}
		}
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"no series": func(c *Config) { c.Series = nil }, "--repeat 0": func(c *Config) { c.Repeat = 0 },
		"--duration 0s":     func(c *Config) { c.Duration = 0 },
		"--warmup -1s":      func(c *Config) { c.Warmup = -time.Second },
		"--kvnode /nowhere": func(c *Config) { c.Kvnode = "/nowhere" },
	} {
		c := Config{Series: All, Repeat: 1, Duration: time.Second}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// One short measurement of real processes keeps its results and leaves nothing else behind.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	dir := t.TempDir()
	c := Config{Series: []Series{find(t, "nodes", 1)}, Repeat: 2, Duration: 300 * time.Millisecond,
		Results: filepath.Join(dir, "out"), Dir: dir, Out: t.Output()}
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f, err := Read(filepath.Join(dir, "out", "nodes.json"))
	if err != nil {
		t.Fatal(err)
	}
	results, err := f.results()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.Op, r.Nodes))
		if r.Ops == 0 || r.Errors != 0 {
			t.Errorf("%+v", r)
		}
	}
	if want := "put1 get1 put1 get1"; strings.Join(got, " ") != want {
		t.Errorf("measured %v, want %s", got, want)
	}
	if f.Command != "go run ./jepsen sweep nodes --repeat 2 --duration 300ms --warmup 0s --points 1" {
		t.Error(f.Command)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 { // two programs and the results
		t.Errorf("left behind: %v, %v", left, err)
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
