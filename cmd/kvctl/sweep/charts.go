package sweep

import (
	"fmt"
	"slices"

	"tenure/cmd/kvctl/bench"
	"tenure/cmd/kvctl/plot"
)

// Picture is one plot of a series.
type Picture struct {
	Name string // what it shows: throughput or latency
	SVG  []byte
}

// Pictures draws what f holds.
func (f File) Pictures() ([]Picture, error) {
	throughput, latency, err := f.charts()
	if err != nil {
		return nil, err
	}
	var out []Picture
	for _, x := range []struct {
		name string
		c    plot.Chart
	}{{"throughput", throughput}, {"latency", latency}} {
		svg, err := plot.Render(x.c)
		if err != nil {
			return nil, err
		}
		out = append(out, Picture{x.name, svg})
	}
	return out, nil
}

// colors are of operations; they differ in lightness too.
var colors = map[string]string{bench.Put: "#b5400f", bench.Get: "#0b6ab0"}

// logSpread is from which ratio of the largest to the smallest throughput on its axis is logarithmic.
const logSpread = 20

func (f File) charts() (throughput, latency plot.Chart, err error) {
	s, err := Find(f.Series)
	if err != nil {
		return throughput, latency, err
	}
	x := plot.Axis{Label: s.What, Log: s.Log, Format: s.Format}
	throughput = plot.Chart{Title: "Throughput by " + s.What, Subtitle: f.subtitle(s), X: x, Y: plot.Axis{Label: "operations a second"}}
	latency = plot.Chart{Title: "Latency by " + s.What, Subtitle: f.subtitle(s), X: x, Y: plot.Axis{Label: "milliseconds", Log: true}}
	low, high := 0.0, 0.0
	for _, op := range []string{bench.Put, bench.Get} {
		groups := f.groups(s, op)
		if len(groups) == 0 {
			continue
		}
		line := func(name string, dashed bool, of func(bench.Result) float64) plot.Line {
			l := plot.Line{Name: name, Color: colors[op], Dashed: dashed}
			for _, g := range groups {
				l.Points = append(l.Points, g.point(of))
			}
			return l
		}
		ops := line(op, false, func(r bench.Result) float64 { return r.OpsPerS })
		for _, p := range ops.Points {
			high = max(high, p.High)
			if low == 0 || p.Low < low {
				low = p.Low
			}
		}
		throughput.Lines = append(throughput.Lines, ops)
		latency.Lines = append(latency.Lines,
			line(op+" p50", false, func(r bench.Result) float64 { return r.P50 }),
			line(op+" p99", true, func(r bench.Result) float64 { return r.P99 }))
	}
	throughput.Y.Log = low > 0 && high/low > logSpread
	return throughput, latency, nil
}

// subtitle says what stayed the same, when and where, and that not all went well.
func (f File) subtitle(s Series) string {
	if len(f.Results) == 0 {
		return ""
	}
	r, text := f.Results[0], ""
	for _, same := range []struct{ name, text string }{
		{"nodes", fmt.Sprintf("%d nodes", r.Nodes)}, {"clients", fmt.Sprintf("%d clients", r.Clients)},
		{"value-size", plot.Bytes(float64(r.ValueSize)) + " values"}, {"keys", plot.Number(float64(r.Keys)) + " keys"},
	} {
		if same.name != s.Name && (s.Name != "value-size" || same.name != "keys") { // large values have fewer keys
			text += same.text + ", "
		}
	}
	text += f.Started.UTC().Format("2006-01-02") + ", one machine: " + f.System
	failed := uint64(0)
	for _, r := range f.Results {
		failed += r.Errors
	}
	if failed > 0 {
		text += fmt.Sprintf("; %d requests failed", failed)
	}
	return text
}

// group is the repeats of one point.
type group struct {
	x       int
	results []bench.Result
}

// groups are the points of op that had successes, in rising order.
func (f File) groups(s Series, op string) []group {
	var out []group
	for _, r := range f.Results {
		if r.Op != op || r.Ops == 0 || r.P50 <= 0 {
			continue
		}
		x := s.of(r)
		i := slices.IndexFunc(out, func(g group) bool { return g.x == x })
		if i < 0 {
			i, out = len(out), append(out, group{x: x})
		}
		out[i].results = append(out[i].results, r)
	}
	slices.SortFunc(out, func(a, b group) int { return a.x - b.x })
	return out
}

// point is the median with the range.
func (g group) point(of func(bench.Result) float64) plot.Point {
	var ys []float64
	for _, r := range g.results {
		ys = append(ys, of(r))
	}
	slices.Sort(ys)
	n := len(ys)
	return plot.Point{X: float64(g.x), Y: (ys[(n-1)/2] + ys[n/2]) / 2, Low: ys[0], High: ys[n-1]}
}
