package soak

import (
	"fmt"
	"image/color"

	"tenure/jepsen/chart"
)

// colors are the colors of the nodes.
var colors = []color.Color{
	color.RGBA{0xb5, 0x40, 0x0f, 0xff}, color.RGBA{0x0b, 0x6a, 0xb0, 0xff}, color.RGBA{0x3c, 0x7d, 0x2b, 0xff},
	color.RGBA{0x7a, 0x3b, 0x96, 0xff}, color.RGBA{0x00, 0x85, 0x85, 0xff}, color.RGBA{0x9a, 0x7b, 0x00, 0xff},
	color.RGBA{0xc0, 0x39, 0x7b, 0xff},
}

// mostPoints bounds the points of a line. With more samples, a point is the maximum of several.
const mostPoints = 600

// plot returns a chart of the disk use of the nodes over time, with their bound.
func (r Report) plot() chart.Chart {
	c := chart.Chart{
		Title: "Disk use of each node under full load",
		Subtitle: fmt.Sprintf("%d clients, %s keys, %s values, %s, %d processors", r.Clients,
			chart.Number(float64(r.Keys)),
			chart.Bytes(float64(r.ValueSize)), r.Date.Format("2006-01-02"), r.Processors),
		X:      chart.Axis{Label: "minutes", Format: chart.Number},
		Y:      chart.Axis{Label: "MiB", Format: chart.Number},
		Series: true,
	}
	if len(r.Samples) == 0 {
		return c
	}
	each := (len(r.Samples) + mostPoints - 1) / mostPoints
	for node := range r.Samples[0].Nodes {
		l := chart.Line{Name: fmt.Sprintf("node %d", node+1), Color: colors[node%len(colors)]}
		for i, s := range r.Samples {
			if i%each == 0 {
				l.Points = append(l.Points, chart.Point{X: s.At.Minutes()})
			}
			p := &l.Points[len(l.Points)-1]
			p.Y = max(p.Y, mebibytes(s.Nodes[node]))
			p.Low, p.High = p.Y, p.Y
		}
		c.Lines = append(c.Lines, l)
	}
	most := mebibytes(r.bound())
	l := chart.Line{Name: "bound", Color: color.Black, Dashed: true}
	for _, s := range []Sample{r.Samples[0], r.Samples[len(r.Samples)-1]} {
		l.Points = append(l.Points, chart.Point{X: s.At.Minutes(), Y: most, Low: most, High: most})
	}
	c.Lines = append(c.Lines, l)
	return c
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
