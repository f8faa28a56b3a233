// Package plot draws line charts as SVG. What it draws depends on the chart alone, byte for byte.
//
//   - chart.go: what is drawn. scale.go: from values to places, and where ticks stand. svg.go: the drawing.
package plot
