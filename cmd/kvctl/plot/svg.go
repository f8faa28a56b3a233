package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// The picture, in its own units.
const (
	width, height = 720, 440
	left, right   = 80, 20 // margins
	top, bottom   = 64, 92
	tickLength    = 5
	capWidth      = 4 // of a range's ends, to each side
	markRadius    = 3.5
	legendStep    = 150
)

// Render draws c. Colours are on white, so that it can be read on dark pages too.
func Render(c Chart) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("plot %q: %w", c.Title, err)
	}
	xs, ys := c.values()
	d := &drawing{c: c, x: span(xs, c.X.Log, left, width-right)}
	d.y, d.yTicks = fit(ys, c.Y.Log, height-bottom, top)
	d.xTicks = xs
	d.open()
	d.axes()
	for _, l := range c.Lines {
		d.line(l)
	}
	d.legend()
	d.b.WriteString("</svg>\n")
	return d.b.Bytes(), nil
}

type drawing struct {
	c              Chart
	b              bytes.Buffer
	x, y           scale
	xTicks, yTicks []float64
}

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *drawing) open() {
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, width, height, width, height)
	d.add(`<title>%s</title>`, escape(d.c.Title))
	d.add(`<rect width="%d" height="%d" fill="#fff"/>`, width, height)
	d.add(`<text x="%d" y="24" font-size="16" font-weight="bold">%s</text>`, left, escape(d.c.Title))
	if d.c.Subtitle != "" {
		d.add(`<text x="%d" y="44" fill="#555">%s</text>`, left, escape(d.c.Subtitle))
	}
}

func (d *drawing) axes() {
	floor, wall := d.y.from, float64(left)
	for _, v := range d.yTicks {
		y := d.y.place(v)
		d.add(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>`, left, y, width-right, y)
		d.add(`<text x="%d" y="%.1f" text-anchor="end">%s</text>`, left-8, y+4, escape(d.c.Y.text(v)))
	}
	for _, v := range d.xTicks {
		x := d.x.place(v)
		d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#333"/>`, x, floor, x, floor+tickLength)
		d.add(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, floor+18, escape(d.c.X.text(v)))
	}
	d.add(`<line x1="%.1f" y1="%.1f" x2="%d" y2="%.1f" stroke="#333"/>`, wall, floor, width-right, floor)
	d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#333"/>`, wall, floor, wall, d.y.to)
	d.add(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (wall+width-right)/2, floor+38, escape(d.c.X.label()))
	middle := (d.y.from + d.y.to) / 2
	d.add(`<text transform="translate(20 %.1f) rotate(-90)" text-anchor="middle">%s</text>`, middle, escape(d.c.Y.label()))
}

func (a Axis) text(v float64) string {
	if a.Format != nil {
		return a.Format(v)
	}
	return Number(v)
}

func (a Axis) label() string {
	if a.Log {
		return a.Label + ", log scale"
	}
	return a.Label
}

// line draws the points, the ranges of those that have one, and what joins them.
func (d *drawing) line(l Line) {
	var places []string
	for _, p := range l.Points {
		places = append(places, fmt.Sprintf("%.1f,%.1f", d.x.place(p.X), d.y.place(p.Y)))
	}
	d.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(places, " "), escape(l.Color), l.dash())
	for _, p := range l.Points {
		x, y := d.x.place(p.X), d.y.place(p.Y)
		if p.Low < p.High {
			low, high := d.y.place(p.Low), d.y.place(p.High)
			d.add(`<path d="M%.1f %.1fH%.1fM%.1f %.1fV%.1fM%.1f %.1fH%.1f" stroke="%s" fill="none"/>`,
				x-capWidth, low, x+capWidth, x, low, high, x-capWidth, high, x+capWidth, escape(l.Color))
		}
		d.add(`<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"><title>%s</title></circle>`, x, y, markRadius, l.fill(), escape(d.tell(l, p)))
	}
}

func (l Line) dash() string {
	if l.Dashed {
		return ` stroke-dasharray="6 4"`
	}
	return ""
}

// fill is open for dashed lines, so that lines can be told apart without colours.
func (l Line) fill() string {
	if l.Dashed {
		return `#fff" stroke="` + escape(l.Color)
	}
	return escape(l.Color)
}

// tell is what a browser shows when one points at p.
func (d *drawing) tell(l Line, p Point) string {
	s := fmt.Sprintf("%s at %s: %s", l.Name, d.c.X.text(p.X), d.c.Y.text(p.Y))
	if p.Low < p.High {
		s += fmt.Sprintf(" (%s to %s)", d.c.Y.text(p.Low), d.c.Y.text(p.High))
	}
	return s
}

func (d *drawing) legend() {
	y := height - 18.0
	for i, l := range d.c.Lines {
		x := float64(left + i*legendStep)
		d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2"%s/>`, x, y, x+28, y, escape(l.Color), l.dash())
		d.add(`<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`, x+14, y, markRadius, l.fill())
		d.add(`<text x="%.1f" y="%.1f">%s</text>`, x+34, y+4, escape(l.Name))
	}
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
