package server

import (
	"testing"
	"time"
)

// BenchmarkLeaseCheck is what the lease costs a read at the master: the gate before and after the data, and the clock.
func BenchmarkLeaseCheck(b *testing.B) {
	g := newGate()
	g.setLease(1, time.Hour)
	g.setReady(1, 7)
	start := time.Now()
	check := func() bool {
		t, ok := g.load().Begin()
		return ok && g.load().End(t, time.Since(start))
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !check() {
				b.Fatal("not held")
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if !check() {
					b.Error("not held")
					return
				}
			}
		})
	})
}
