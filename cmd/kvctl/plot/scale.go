package plot

import (
	"math"
	"slices"
)

// scale maps values from low to high to places from from to to.
type scale struct {
	low, high float64
	from, to  float64
	log       bool
}

func (s scale) place(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log10(v), math.Log10(low), math.Log10(high)
	}
	if high == low {
		return (s.from + s.to) / 2
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}

// span is the scale of the x axis: from the first value to the last, with a little room at the ends.
func span(xs []float64, log bool, from, to float64) scale {
	room := (to - from) / 30
	return scale{low: xs[0], high: xs[len(xs)-1], from: from + room, to: to - room, log: log}
}

// fit is the scale of the y axis with its ticks: from 0, or from a round value if logarithmic, to a round value.
func fit(ys []float64, log bool, from, to float64) (scale, []float64) {
	low, high := slices.Min(ys), slices.Max(ys)
	var ticks []float64
	if log {
		ticks = logTicks(low, high)
	} else {
		ticks = linearTicks(high)
	}
	return scale{low: ticks[0], high: ticks[len(ticks)-1], from: from, to: to, log: log}, ticks
}

// linearTicks are four to eight round values from 0 to at least high.
func linearTicks(high float64) []float64 {
	if high <= 0 {
		high = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high/4)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if high/(m*step) <= 7 {
			step *= m
			break
		}
	}
	var ticks []float64
	for i := 0; ; i++ {
		ticks = append(ticks, float64(i)*step)
		if float64(i)*step >= high {
			return ticks
		}
	}
}

// logTicks are the values 1, 2 and 5 of each decade that hold low to high, or the decades alone if those were many.
func logTicks(low, high float64) []float64 {
	steps := []float64{1, 2, 5}
	if math.Log10(high/low) > 3 {
		steps = []float64{1}
	}
	var ticks []float64
	for e := math.Floor(math.Log10(low)); ; e++ {
		for _, s := range steps {
			v := s * math.Pow(10, e)
			if v <= low {
				ticks = ticks[:0] // the last one at or below low is the first
			}
			ticks = append(ticks, v)
			if v >= high && len(ticks) > 1 {
				return ticks
			}
		}
	}
}
