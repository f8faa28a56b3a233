package storage

import (
	"strings"
	"testing"

	"tenure/kv"
	"tenure/multipaxos"
)

// BenchmarkCommit is one client after the other: a commit waits for its sync alone. The log is folded and cut as in a
// node that keeps a tail of some thousand slots.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct {
		name    string
		entries int
		bytes   int
	}{{"1x300B", 1, 300}, {"1x16KiB", 1, 16 << 10}, {"64x300B", 64, 300}} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b, b.TempDir(), Options{LogInitialBytes: 64 << 20})
			value := []byte(strings.Repeat("v", c.bytes))
			p := multipaxos.Persist{Entries: make([]multipaxos.Entry, c.entries)}
			ps := make([]multipaxos.Persist, 1)
			keep := multipaxos.Slot(min(2500, 32<<20/c.bytes))
			slot := multipaxos.Slot(0)
			b.ReportAllocs()
			for b.Loop() {
				for i := range p.Entries {
					slot++
					p.Entries[i] = multipaxos.Entry{Slot: slot, Ballot: bal(1), Value: value}
				}
				p.Truncate = 0
				if slot > 2*keep && slot%(2*keep) < multipaxos.Slot(c.entries) {
					b.StopTimer()
					must(b, s.Fold(&kv.Fold{Slot: uint64(slot - keep)}))
					p.Truncate = s.Folded()
					b.StartTimer()
				}
				ps[0] = p
				must(b, s.Commit(ps))
			}
		})
	}
}
