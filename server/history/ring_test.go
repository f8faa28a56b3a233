package history

import (
	"testing"
	"time"
)

// fill adds n samples, one each Every from start, and returns when the last was taken.
func fill(r *Ring, start time.Duration, n int) (at time.Duration) {
	for i := range n {
		at = start + time.Duration(i)*Every
		r.Add(Sample{At: at, Requests: uint64(i)})
	}
	return at
}

// A ring has the newest samples of the span, oldest first, and no more however long it runs.
func TestRingKeepsTheNewest(t *testing.T) {
	for _, n := range []int{0, 1, most - 1, most, most + 1, 10*most + 7} {
		var r Ring
		now := fill(&r, time.Hour, n)
		got := r.Last(now)
		if len(got) != min(n, most) || len(r.samples) > most {
			t.Fatalf("%d samples of %d", len(got), n)
		}
		for i, s := range got {
			if want := uint64(n - len(got) + i); s.Requests != want {
				t.Errorf("of %d samples, number %d is %d, want %d", n, i, s.Requests, want)
			}
		}
	}
}

// What is older than the span is not told, also if nothing newer has come.
func TestRingForgets(t *testing.T) {
	var r Ring
	now := fill(&r, 0, most)
	if got := r.Last(now + Span/2); len(got) != most/2+1 {
		t.Errorf("half a span later there are %d samples", len(got))
	}
	if got := r.Last(now + Span + 1); len(got) != 0 {
		t.Errorf("after the span there are %d samples", len(got))
	}
}

func TestRingBoundsLags(t *testing.T) {
	var r Ring
	r.Add(Sample{Lags: make([]Lag, 10*MaxLags)})
	if n := len(r.Last(0)[0].Lags); n != MaxLags {
		t.Errorf("%d lags", n)
	}
}
