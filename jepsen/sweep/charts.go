package sweep

import (
	"fmt"
	"image/color"
	"slices"
)

// colors are those of the operations; they differ in lightness too.
var colors = map[string]color.Color{put: color.RGBA{0xb5, 0x40, 0x0f, 0xff}, get: color.RGBA{0x0b, 0x6a, 0xb0, 0xff}}

// logSpread is from which ratio of the largest to the smallest throughput on its axis is logarithmic.
const logSpread = 20

func (f File) charts() (throughput, latency chart, err error) {
	s, err := Find(f.Series)
	if err != nil {
		return throughput, latency, err
	}
	results, err := f.results()
	if err != nil {
		return throughput, latency, err
	}
	x := axis{label: s.What, log: s.Log, format: s.Format}
	below := f.subtitle(s, results)
	throughput = chart{title: "Throughput by " + s.What, subtitle: below, x: x,
		y: axis{label: "operations a second", format: number}}
	latency = chart{title: "Latency by " + s.What, subtitle: below, x: x,
		y: axis{label: "milliseconds", log: true, format: number}}
	low, high := 0.0, 0.0
	for _, op := range []string{put, get} {
		groups := group(results, s, op)
		if len(groups) == 0 {
			continue
		}
		draw := func(name string, dashed bool, of func(Result) float64) line {
			l := line{name: name, color: colors[op], dashed: dashed}
			for _, g := range groups {
				l.points = append(l.points, g.point(of))
			}
			return l
		}
		ops := draw(op, false, func(r Result) float64 { return r.OpsPerS })
		for _, p := range ops.points {
			high = max(high, p.high)
			if low == 0 || p.low < low {
				low = p.low
			}
		}
		throughput.lines = append(throughput.lines, ops)
		latency.lines = append(latency.lines,
			draw(op+" p50", false, func(r Result) float64 { return r.P50 }),
			draw(op+" p99", true, func(r Result) float64 { return r.P99 }))
	}
	throughput.y.log = low > 0 && high/low > logSpread
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
		{"value-size", byteCount(float64(r.ValueSize)) + " values"}, {"keys", number(float64(r.Keys)) + " keys"},
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
func (g repeats) point(of func(Result) float64) point {
	var ys []float64
	for _, r := range g.results {
		ys = append(ys, of(r))
	}
	slices.Sort(ys)
	n := len(ys)
	return point{x: float64(g.x), y: (ys[(n-1)/2] + ys[n/2]) / 2, low: ys[0], high: ys[n-1]}
}
