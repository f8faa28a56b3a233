// Package chart draws the charts of measurements as SVG: lines over one axis, with ranges of repeats, linear or
// logarithmic.
package chart

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

// Chart is one picture.
type Chart struct {
	Title, Subtitle string
	X, Y            Axis
	Lines           []Line
	// Series draws the lines without marks at their points, and has ticks at round values of X instead of at each value
	// that was measured: for many values over time.
	Series bool
}

// Axis describes one axis. All values on a logarithmic one are above 0; the y axis begins at 0 otherwise.
type Axis struct {
	Label  string // with the unit
	Log    bool
	Format func(float64) string // of a value at its tick
}

// Line joins points in rising order of X.
type Line struct {
	Name   string
	Color  color.Color
	Dashed bool
	Points []Point
}

// Point is a value with the range of its repeats.
type Point struct{ X, Y, Low, High float64 }

const (
	width  = 18 * vg.Centimeter
	height = 11 * vg.Centimeter
)

// ErrEmpty is for a chart without points.
var ErrEmpty = errors.New("there is nothing to draw: no measurement succeeded")

// SVG draws c. The error is ErrEmpty if it has no points.
func (c Chart) SVG() ([]byte, error) {
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

func (c Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = c.Title + "\n" + c.Subtitle
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = c.X.Label, c.Y.Label
	p.Add(plotter.NewGrid())
	var xs, ys []float64
	for _, l := range c.Lines {
		if err := l.addTo(p, !c.Series); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		for _, q := range l.Points {
			xs, ys = append(xs, q.X), append(ys, q.Low, q.High)
		}
	}
	if len(xs) == 0 {
		return nil, ErrEmpty
	}
	c.X.scale(&p.X)
	c.Y.scale(&p.Y)
	slices.Sort(xs)
	if c.Series {
		p.X.Tick.Marker = c.X.named(plot.DefaultTicks{})
	} else {
		p.X.Tick.Marker = c.X.at(slices.Compact(xs)) // each value that was measured has a tick
	}
	if c.Y.Log {
		low, high := math.Floor(math.Log10(slices.Min(ys))), math.Ceil(math.Log10(slices.Max(ys)))
		p.Y.Min, p.Y.Max = math.Pow(10, low), math.Pow(10, max(high, low+1))
		p.Y.Tick.Marker = c.Y.named(plot.LogTicks{Prec: -1})
	} else {
		p.Y.Min, p.Y.Max = 0, slices.Max(ys)*1.2 // with space for the legend
		p.Y.Tick.Marker = c.Y.named(plot.DefaultTicks{})
	}
	return p, nil
}

// addTo adds the line, if marked with its points and their ranges.
func (l Line) addTo(p *plot.Plot, marked bool) error {
	values, ranges := make(plotter.XYs, len(l.Points)), make(plotter.YErrors, len(l.Points))
	for i, q := range l.Points {
		values[i].X, values[i].Y = q.X, q.Y
		ranges[i].Low, ranges[i].High = q.Y-q.Low, q.High-q.Y
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
	joined.Color, marks.Color, bars.Color = l.Color, l.Color, l.Color
	joined.Width, marks.Shape = vg.Points(1.5), draw.CircleGlyph{}
	if l.Dashed {
		joined.Dashes = []vg.Length{vg.Points(5), vg.Points(4)}
	}
	if marked {
		p.Add(joined, marks, bars)
		p.Legend.Add(l.Name, joined, marks)
	} else {
		p.Add(joined)
		p.Legend.Add(l.Name, joined)
	}
	p.Legend.Top, p.Legend.Left = true, true
	return nil
}

func (a Axis) scale(x *plot.Axis) {
	if a.Log {
		x.Scale = plot.LogScale{}
		x.Label.Text += ", log scale"
	}
}

// at returns ticks at these values.
func (a Axis) at(values []float64) plot.Ticker {
	var ticks plot.ConstantTicks
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: a.Format(v)})
	}
	return ticks
}

// named returns the ticks of t with labels in the axis's format.
func (a Axis) named(t plot.Ticker) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := t.Ticks(low, high)
		for i := range ticks {
			if ticks[i].Label != "" {
				ticks[i].Label = a.Format(ticks[i].Value)
			}
		}
		return ticks
	})
}

// Number writes a value as people do: 1.5, 20, 3 k, 2.5 M.
func Number(v float64) string {
	switch {
	case v >= 1e6:
		return short(v/1e6) + " M"
	case v >= 1e3:
		return short(v/1e3) + " k"
	}
	return short(v)
}

// Bytes writes a number of bytes: 16 B, 4 KiB, 1 MiB.
func Bytes(v float64) string {
	switch {
	case v >= 1<<20:
		return short(v/(1<<20)) + " MiB"
	case v >= 1<<10:
		return short(v/(1<<10)) + " KiB"
	}
	return short(v) + " B"
}

func short(v float64) string { return fmt.Sprintf("%.3g", v) }
