package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Chart is one picture. Every X has a tick of its own.
type Chart struct {
	Title    string
	Subtitle string // small, below the title; may be ""
	X, Y     Axis
	Lines    []Line
}

// Axis describes one axis.
type Axis struct {
	Label string // with the unit
	Log   bool   // logarithmic: all values must be above 0; else the Y axis begins at 0
	// Format writes a value at its tick; nil is Number.
	Format func(float64) string
}

// Line is one series of points, in rising order of X.
type Line struct {
	Name   string
	Color  string // as in SVG
	Dashed bool
	Points []Point
}

// Point is a value with the range of its repeats; Low and High equal Y if there are none.
type Point struct{ X, Y, Low, High float64 }

// errEmpty is a chart in which there is nothing to draw.
var errEmpty = errors.New("no points")

func (c Chart) check() error {
	n := 0
	for _, l := range c.Lines {
		n += len(l.Points)
		for i, p := range l.Points {
			switch {
			case slices.ContainsFunc([]float64{p.X, p.Y, p.Low, p.High}, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }):
				return fmt.Errorf("%s: a point is not finite: %v", l.Name, p)
			case p.Low > p.Y || p.Y > p.High:
				return fmt.Errorf("%s: the range of %v does not hold it", l.Name, p)
			case c.X.Log && p.X <= 0 || c.Y.Log && p.Low <= 0:
				return fmt.Errorf("%s: %v has no logarithm", l.Name, p)
			case i > 0 && p.X <= l.Points[i-1].X:
				return fmt.Errorf("%s: x does not rise at %v", l.Name, p)
			}
		}
	}
	if n == 0 {
		return errEmpty
	}
	return nil
}

// values are all x and all y, ranges included; the x each once, rising.
func (c Chart) values() (xs, ys []float64) {
	for _, l := range c.Lines {
		for _, p := range l.Points {
			xs, ys = append(xs, p.X), append(ys, p.Low, p.High)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs), ys
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
