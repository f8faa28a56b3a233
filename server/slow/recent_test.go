package slow

import (
	"sync"
	"testing"
	"time"
)

// p99 is the time of all but the slowest hundredth, to a quarter.
func TestRecentTellsHowLongRequestsTook(t *testing.T) {
	for _, x := range []struct {
		fast, slow int
		least      time.Duration
		most       time.Duration
	}{
		{0, 0, 0, 0},
		{1, 0, time.Millisecond, 1250 * time.Microsecond},
		{99, 1, time.Millisecond, 1250 * time.Microsecond},
		{98, 2, 300 * time.Millisecond, 375 * time.Millisecond},
		{0, 1, 300 * time.Millisecond, 375 * time.Millisecond},
		{99000, 1000, time.Millisecond, 1250 * time.Microsecond},
	} {
		var r Recent
		r.Add(x.fast, time.Millisecond)
		r.Add(x.slow, 300*time.Millisecond)
		if n, p99 := r.Take(); n != uint64(x.fast+x.slow) || p99 < x.least || p99 > x.most {
			t.Errorf("%d fast and %d slow: %d requests, 99 %% within %v", x.fast, x.slow, n, p99)
		}
		if n, p99 := r.Take(); n != 0 || p99 != 0 {
			t.Errorf("they are counted again: %d, %v", n, p99)
		}
	}
}

// Each duration is in the range that ends right above it, up to the last range.
func TestRangesOfDurations(t *testing.T) {
	for d := time.Duration(0); d < 30*time.Second; d = max(d+1, d*17/16) {
		i := rangeOf(d)
		if end := endOf(i); end <= d || end > d*5/4+5*time.Microsecond {
			t.Fatalf("%v is in the range that ends at %v", d, end)
		}
	}
	for _, d := range []time.Duration{-time.Second, 1 << 62} {
		if i := rangeOf(d); i < 0 || i >= durations {
			t.Errorf("%v is in range %d", d, i)
		}
	}
}

// Requests that are counted while others are taken are not lost.
func TestRecentLosesNothing(t *testing.T) {
	var r Recent
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				r.Add(1, time.Millisecond)
			}
		})
	}
	sum := uint64(0)
	for range 100 {
		n, _ := r.Take()
		sum += n
	}
	all.Wait()
	if n, _ := r.Take(); sum+n != 4000 {
		t.Errorf("%d of 4000", sum+n)
	}
}
