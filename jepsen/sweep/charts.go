package sweep

import (
	"fmt"
	"image/color"
	"slices"

	"tenure/jepsen/chart"
)

// colors are those of the operations; they differ in lightness too.
var colors = map[string]color.Color{put: color.RGBA{0xb5, 0x40, 0x0f, 0xff}, get: color.RGBA{0x0b, 0x6a, 0xb0, 0xff}}

// logSpread is from which ratio of the largest to the smallest throughput on its axis is logarithmic.
const logSpread = 20

func (f File) charts() (throughput, latency chart.Chart, err error) {
	s, err := Find(f.Series)
	if err != nil {
		return throughput, latency, err
	}
	results, err := f.results()
	if err != nil {
		return throughput, latency, err
	}
	x := chart.Axis{Label: s.What, Log: s.Log, Format: s.Format}
	below := f.subtitle(s, results)
	throughput = chart.Chart{Title: "Throughput by " + s.What, Subtitle: below, X: x,
		Y: chart.Axis{Label: "operations a second", Format: chart.Number}}
	latency = chart.Chart{Title: "Latency by " + s.What, Subtitle: below, X: x,
		Y: chart.Axis{Label: "milliseconds", Log: true, Format: chart.Number}}
	low, high := 0.0, 0.0
	for _, op := range []string{put, get} {
		groups := group(results, s, op)
		if len(groups) == 0 {
			continue
		}
		draw := func(name string, dashed bool, of func(Result) float64) chart.Line {
			l := chart.Line{Name: name, Color: colors[op], Dashed: dashed}
			for _, g := range groups {
				l.Points = append(l.Points, g.point(of))
			}
			return l
		}
		ops := draw(op, false, func(r Result) float64 { return r.OpsPerS })
		for _, p := range ops.Points {
			high = max(high, p.High)
			if low == 0 || p.Low < low {
				low = p.Low
			}
		}
		throughput.Lines = append(throughput.Lines, ops)
		latency.Lines = append(latency.Lines,
			draw(op+" p50", false, func(r Result) float64 { return r.P50 }),
			draw(op+" p99", true, func(r Result) float64 { return r.P99 }))
	}
	throughput.Y.Log = low > 0 && high/low > logSpread
	return throughput, latency, nil
}

// subtitle says what stayed the same, when and where, and that not all went well.
func (f File) subtitle(s Series, results []Result) string {
	if len(results) == 0 {
		return ""
	}
	r, text := results[0], ""
	for _, same := range []struct{ name, text string }{
		{"nodes", fmt.Sprintf("%d nodes", r.Nodes)}, {"clients", fmt.Sprintf("%d clients", r.Clients)},
		{"value-size", chart.Bytes(float64(r.ValueSize)) + " values"},
		{"keys", chart.Number(float64(r.Keys)) + " keys"},
	} {
		if same.name != s.Name && (s.Name != "value-size" || same.name != "keys") { // large values have fewer keys
			text += same.text + ", "
		}
	}
	text += f.Started.UTC().Format("2006-01-02") + ", one machine: " + f.System
	failed := uint64(0)
	for _, r := range results {
		failed += r.Errors
	}
	if failed > 0 {
		text += fmt.Sprintf("; %d requests failed", failed)
	}
	return text
}

// repeats are the results of one point.
type repeats struct {
	x       int
	results []Result
}

// group returns the points of op that had successes, in rising order.
func group(results []Result, s Series, op string) []repeats {
	var out []repeats
	for _, r := range results {
		if r.Op != op || r.Ops == 0 || r.OpsPerS <= 0 || r.P50 <= 0 || r.P99 <= 0 {
			continue
		}
		x := s.of(r)
		i := slices.IndexFunc(out, func(g repeats) bool { return g.x == x })
		if i < 0 {
			i, out = len(out), append(out, repeats{x: x})
		}
		out[i].results = append(out[i].results, r)
	}
	slices.SortFunc(out, func(a, b repeats) int { return a.x - b.x })
	return out
}

// point is the median with the range.
func (g repeats) point(of func(Result) float64) chart.Point {
	var ys []float64
	for _, r := range g.results {
		ys = append(ys, of(r))
	}
	slices.Sort(ys)
	n := len(ys)
	return chart.Point{X: float64(g.x), Y: (ys[(n-1)/2] + ys[n/2]) / 2, Low: ys[0], High: ys[n-1]}
}
