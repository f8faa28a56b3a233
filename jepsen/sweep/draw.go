package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is one picture.
type chart struct {
	title, subtitle string
	x, y            axis
	lines           []line
}

// axis describes one axis. All values on a logarithmic one are above 0; the y axis begins at 0 otherwise.
type axis struct {
	label  string // with the unit
	log    bool
	format func(float64) string // of a value at its tick
}

// line joins points in rising order of x.
type line struct {
	name   string
	color  color.Color
	dashed bool
	points []point
}

// point is a value with the range of its repeats.
type point struct{ x, y, low, high float64 }

const (
	width  = 18 * vg.Centimeter
	height = 11 * vg.Centimeter
)

var errEmpty = errors.New("there is nothing to draw: no measurement succeeded")

// svg draws c.
func (c chart) svg() ([]byte, error) {
	p, err := c.plot()
	if err != nil {
		return nil, err
	}
	canvas := vgsvg.New(width, height)
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	_, err = canvas.WriteTo(&out)
	return out.Bytes(), err
}

func (c chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = c.title + "\n" + c.subtitle
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = c.x.label, c.y.label
	p.Add(plotter.NewGrid())
	var xs, ys []float64
	for _, l := range c.lines {
		if err := l.addTo(p); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		for _, q := range l.points {
			xs, ys = append(xs, q.x), append(ys, q.low, q.high)
		}
	}
	if len(xs) == 0 {
		return nil, errEmpty
	}
	c.x.scale(&p.X)
	c.y.scale(&p.Y)
	slices.Sort(xs)
	p.X.Tick.Marker = c.x.at(slices.Compact(xs)) // each value that was measured has a tick
	if c.y.log {
		low, high := math.Floor(math.Log10(slices.Min(ys))), math.Ceil(math.Log10(slices.Max(ys)))
		p.Y.Min, p.Y.Max = math.Pow(10, low), math.Pow(10, max(high, low+1))
		p.Y.Tick.Marker = c.y.named(plot.LogTicks{Prec: -1})
	} else {
		p.Y.Min, p.Y.Max = 0, slices.Max(ys)*1.2 // with space for the legend
		p.Y.Tick.Marker = c.y.named(plot.DefaultTicks{})
	}
	return p, nil
}

// addTo adds the line with its points and their ranges.
func (l line) addTo(p *plot.Plot) error {
	values, ranges := make(plotter.XYs, len(l.points)), make(plotter.YErrors, len(l.points))
	for i, q := range l.points {
		values[i].X, values[i].Y = q.x, q.y
		ranges[i].Low, ranges[i].High = q.y-q.low, q.high-q.y
	}
	joined, marks, err := plotter.NewLinePoints(values)
	if err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(struct {
		plotter.XYs
		plotter.YErrors
	}{values, ranges})
	if err != nil {
		return err
	}
	joined.Color, marks.Color, bars.Color = l.color, l.color, l.color
	joined.Width, marks.Shape = vg.Points(1.5), draw.CircleGlyph{}
	if l.dashed {
		joined.Dashes = []vg.Length{vg.Points(5), vg.Points(4)}
	}
	p.Add(joined, marks, bars)
	p.Legend.Add(l.name, joined, marks)
	p.Legend.Top, p.Legend.Left = true, true
	return nil
}

func (a axis) scale(x *plot.Axis) {
	if a.log {
		x.Scale = plot.LogScale{}
		x.Label.Text += ", log scale"
	}
}

// at returns ticks at these values.
func (a axis) at(values []float64) plot.Ticker {
	var ticks plot.ConstantTicks
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: a.format(v)})
	}
	return ticks
}

// named returns the ticks of t with labels in the axis's format.
func (a axis) named(t plot.Ticker) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := t.Ticks(low, high)
		for i := range ticks {
			if ticks[i].Label != "" {
				ticks[i].Label = a.format(ticks[i].Value)
			}
		}
		return ticks
	})
}

// number writes a value as people do: 1.5, 20, 3 k, 2.5 M.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return short(v/1e6) + " M"
	case v >= 1e3:
		return short(v/1e3) + " k"
	}
	return short(v)
}

// byteCount writes a number of bytes: 16 B, 4 KiB, 1 MiB.
func byteCount(v float64) string {
	switch {
	case v >= 1<<20:
		return short(v/(1<<20)) + " MiB"
	case v >= 1<<10:
		return short(v/(1<<10)) + " KiB"
	}
	return short(v) + " B"
}

func short(v float64) string { return fmt.Sprintf("%.3g", v) }
