package run

import (
	_ "embed"
	"html/template"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"tenure/jepsen/history"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// What the page is drawn to, in its own units.
const (
	plotLeft, plotWidth = 110.0, 1070.0
	plotHeight          = 150.0
	laneHeight          = 18.0
	lanesTop            = 360.0
	buckets             = 120
	fastest, slowest    = 100 * time.Microsecond, 10 * time.Second // ends of the latency axis
)

type pageData struct {
	Result  Result
	Says    [2]string // workload, nemesis
	Seconds float64
	Ticks   []tick
	Bars    []bar  // throughput
	Most    int    // operations a second at the top of the throughput plot
	Lines   []line // latency
	Rules   []tick // of the latency axis
	Lanes   []lane
	Height  float64 // of all lanes
	Total   float64 // of the drawing
	Buckets []bucket
	Reasons []string
}

type tick struct {
	At   float64
	Text string
}

type bar struct {
	X, Y, W, H float64
	Class      string
}

type line struct{ Class, Points string }

type lane struct {
	Name  string
	Y     float64
	Boxes []box
}

type box struct {
	X, W        float64
	Class, Says string
}

// bucket has the operations that ended in one interval.
type bucket struct {
	OK, Fail, Info int
	P50, P99, Max  float64 // ms
}

// page draws throughput, latency, faults and masters on one time axis. It needs nothing from elsewhere.
func (s *record) page(w io.Writer, r Result) error {
	d := &pageData{Result: r, Says: [2]string{s.workload.Says, s.nemesis.Says}, Seconds: s.end.Seconds()}
	for _, p := range s.found.Problems {
		text := p.Kind + ": " + p.Reason
		for _, op := range p.Ops {
			text += "\n    " + op.String()
		}
		d.Reasons = append(d.Reasons, text)
	}
	step := math.Max(1, math.Round(d.Seconds/20))
	for t := 0.0; t <= d.Seconds; t += step {
		d.Ticks = append(d.Ticks,
			tick{s.x(time.Duration(t * float64(time.Second))), time.Duration(t * float64(time.Second)).String()})
	}
	d.Buckets = s.bucketed()
	s.throughput(d)
	s.latency(d)
	s.lanes(d)
	d.Total = lanesTop + d.Height + 30
	return pageTemplate.Execute(w, d)
}

// x returns the position of a time on the page.
func (s *record) x(at time.Duration) float64 {
	return plotLeft + plotWidth*math.Min(1, float64(at)/float64(s.end))
}

func (s *record) bucketed() []bucket {
	out := make([]bucket, buckets)
	times := make([][]float64, buckets)
	for _, op := range s.ops {
		end := op.Return
		if op.Outcome == history.Info {
			end = op.Call + opTimeout // when its client gave up
		}
		i := min(buckets-1, int(float64(end)/float64(s.end)*buckets))
		switch op.Outcome {
		case history.OK:
			out[i].OK++
			times[i] = append(times[i], (op.Return-op.Call).Seconds()*1000)
		case history.Fail:
			out[i].Fail++
		default:
			out[i].Info++
		}
	}
	for i, t := range times {
		if sort.Float64s(t); len(t) > 0 {
			out[i].P50, out[i].P99, out[i].Max = t[len(t)/2], t[len(t)*99/100], t[len(t)-1]
		}
	}
	return out
}

func (s *record) throughput(d *pageData) {
	most := 1
	for _, b := range d.Buckets {
		most = max(most, b.OK+b.Fail+b.Info)
	}
	width := plotWidth / buckets
	d.Most = int(float64(most) / (d.Seconds / buckets))
	for i, b := range d.Buckets {
		y := plotHeight
		for _, part := range []struct {
			n     int
			class string
		}{{b.OK, "ok"}, {b.Fail, "fail"}, {b.Info, "info"}} {
			if part.n == 0 {
				continue
			}
			h := math.Max(1, plotHeight*float64(part.n)/float64(most))
			y -= h
			d.Bars = append(d.Bars, bar{plotLeft + float64(i)*width, math.Max(0, y), width - 0.5, h, part.class})
		}
	}
}

func (s *record) latency(d *pageData) {
	scale := func(ms float64) float64 {
		lo, hi := math.Log10(fastest.Seconds()*1000), math.Log10(slowest.Seconds()*1000)
		return plotHeight * (1 - (math.Log10(math.Max(ms, 1e-3))-lo)/(hi-lo))
	}
	for _, at := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		d.Rules = append(d.Rules, tick{scale(at.Seconds() * 1000), at.String()})
	}
	for _, l := range []struct {
		class string
		of    func(bucket) float64
	}{{"max", func(b bucket) float64 { return b.Max }}, {"p99", func(b bucket) float64 { return b.P99 }},
		{"p50", func(b bucket) float64 { return b.P50 }}} {
		var points []string
		flush := func() {
			if len(points) > 0 {
				d.Lines = append(d.Lines, line{l.class, strings.Join(points, " ")})
			}
			points = nil
		}
		for i, b := range d.Buckets {
			if b.OK == 0 {
				flush() // nothing succeeded here: no line across
				continue
			}
			x := plotLeft + (float64(i)+0.5)*plotWidth/buckets
			points = append(points, f1(x)+","+f1(math.Min(plotHeight, math.Max(0, scale(l.of(b))))))
		}
		flush()
	}
}

// lanes: a lane for each kind of fault, then two for each node, of faults that name it and of how it was.
func (s *record) lanes(d *pageData) {
	add := func(name string, boxes []box) {
		d.Lanes = append(d.Lanes, lane{name, d.Height, boxes})
		d.Height += laneHeight
	}
	for id := 1; id <= s.cfg.Nodes+s.nemesis.Spares; id++ {
		var faults, states []box
		for _, f := range s.faults {
			if len(f.Nodes) == 0 || slices.Contains(f.Nodes, id) {
				faults = append(faults, s.box(f.From, f.To, "fault", f.Name+": "+seen(f)))
			}
		}
		for _, x := range s.watched.stretches(id) {
			says := x.State
			if x.Epoch > 0 {
				says += " of epoch " + itoa(x.Epoch)
			}
			states = append(states, s.box(x.From, x.To, x.State, says))
		}
		add("node "+itoa(uint64(id))+" faults", faults)
		add("node "+itoa(uint64(id))+" state", states)
	}
}

func seen(f history.Fault) string {
	if f.Seen == "" {
		return "not seen to take effect"
	}
	return f.Seen
}

func (s *record) box(from, to time.Duration, class, says string) box {
	x := s.x(from)
	return box{X: x, W: math.Max(1, s.x(to)-x), Class: class, Says: says}
}
