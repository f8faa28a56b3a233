package clock

import (
	"sync"
	"testing"
	"time"
)

func TestNowNeverGoesBackwards(t *testing.T) {
	c := New()
	var newest struct {
		sync.Mutex
		at time.Duration
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20000 {
				newest.Lock()
				floor := newest.at
				newest.Unlock()
				now := c.Now()
				if now < floor {
					t.Errorf("read %v after %v had been returned", now, floor)
					return
				}
				newest.Lock()
				newest.at = max(newest.at, now)
				newest.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestNowAdvancesWithTheRuntimeClock(t *testing.T) {
	c := New()
	// The process may be stopped between any two readings, so each is taken between two of the runtime's.
	before := time.Now()
	first := c.Now()
	after := time.Now()
	for time.Since(before) < 20*time.Millisecond {
	}
	least := time.Since(after)
	got := c.Now() - first
	most := time.Since(before)
	if got < least*9/10 || got > most*11/10+time.Millisecond {
		t.Fatalf("%v to %v elapsed, the clock says %v", least, most, got)
	}
}

func BenchmarkNow(b *testing.B) {
	c := New()
	b.ReportAllocs()
	for b.Loop() {
		c.Now()
	}
}

func BenchmarkNowParallel(b *testing.B) {
	c := New()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Now()
		}
	})
}
