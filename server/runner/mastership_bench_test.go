package runner

import (
	"testing"
	"time"

	"tenure/server/replica/elector"
)

// BenchmarkLeaseCheck is what the lease costs a read at the master: what is published before and after the data, and
// the clock.
func BenchmarkLeaseCheck(b *testing.B) {
	m := NewMastership()
	m.SetLease(elector.State{Tenure: 1, Deadline: time.Hour})
	m.SetReady(1, 7)
	start := time.Now()
	check := func() bool {
		t, ok := m.Load().Begin()
		return ok && m.Load().End(t, time.Since(start))
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
