package slow

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Recent counts requests by how long they took, until they are taken. The zero value is ready, and its methods are safe
// for concurrent use.
type Recent struct {
	counts [durations]atomic.Uint64
}

// Durations are counted in microseconds. Each octave has perOctave ranges, so that a range is at most a quarter wide.
const (
	perOctave = 4
	octaves   = 26 // the last one begins at half a minute
	durations = perOctave * octaves
)

// Add counts n requests that took so long each.
func (r *Recent) Add(n int, took time.Duration) { r.counts[rangeOf(took)].Add(uint64(n)) }

// Take returns how many requests were counted since it was last called, and the time within which 99 % of them were
// answered, 0 without requests. The time is right to a quarter, and never too short.
func (r *Recent) Take() (n uint64, p99 time.Duration) {
	var counts [durations]uint64
	for i := range r.counts {
		counts[i] = r.counts[i].Swap(0)
		n += counts[i]
	}
	below, slowest := uint64(0), n-n/100 // the request that is as slow as 99 % are at most
	for i, c := range counts {
		if below += c; c > 0 && below >= slowest {
			return n, endOf(i)
		}
	}
	return n, 0
}

// rangeOf returns the range of a duration.
func rangeOf(d time.Duration) int {
	us := uint64(max(d, 0)/time.Microsecond) + perOctave // no octave is shorter than its ranges
	octave := bits.Len64(us) - bits.Len64(perOctave)
	within := int(us>>octave) - perOctave
	return min(octave*perOctave+within, durations-1)
}

// endOf returns the shortest duration that is longer than those of a range.
func endOf(i int) time.Duration {
	octave, within := i/perOctave, i%perOctave
	return time.Duration((perOctave+within+1)<<octave-perOctave) * time.Microsecond
}
