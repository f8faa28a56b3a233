package jitter

import (
	"testing"
	"time"
)

func TestDrawsAreSpread(t *testing.T) {
	s, seen := New(0), map[time.Duration]bool{}
	for range 200 {
		d := s.Below(time.Second)
		if d < 0 || d >= time.Second {
			t.Fatalf("%v drawn below %v", d, time.Second)
		}
		seen[d] = true
	}
	if len(seen) < 190 {
		t.Errorf("%d different ones of 200", len(seen))
	}
}

func TestNothingIsBelowNothing(t *testing.T) {
	s := New(1)
	for _, d := range []time.Duration{0, -1} {
		if got := s.Below(d); got != 0 {
			t.Errorf("%v drawn below %v", got, d)
		}
	}
}
