package storage

import (
	"fmt"
	"strings"
	"testing"

	"tenure/kv"
	"tenure/multipaxos"
)

// BenchmarkCommit is one client after the other: a commit waits for its sync alone. The log is checkpointed and cut as
// in a node that keeps a tail of some thousand slots.
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
					must(b, checkpoint(s, &listed{Slot: uint64(slot - keep)}))
					p.Truncate = s.Checkpointed()
					b.StartTimer()
				}
				ps[0] = p
				must(b, s.Commit(ps))
			}
		})
	}
}

// benchStateDB is a store with n keys of 256 bytes in its state database.
func benchStateDB(b *testing.B, n int) *Store {
	s := open(b, b.TempDir(), Options{})
	logTo(b, s, 1)
	for from := 0; from < n; from += 20_000 {
		checkpointKeys(b, s, from, min(n, from+20_000), strings.Repeat("v", 250))
	}
	return s
}

// BenchmarkStateDBGet is a read of one key in a view of its own, as a client's is.
func BenchmarkStateDBGet(b *testing.B) {
	const n = 100_000
	s := benchStateDB(b, n)
	for _, c := range []struct {
		name string
		step int
	}{{"random", 7919}, {"near", 1}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				v, err := s.View()
				must(b, err)
				value, err := v.Get(kv.KindData, fmt.Appendf(nil, "key%06d", i*c.step%n))
				if err != nil || value == nil {
					b.Fatal(i, err)
				}
				v.Close()
			}
		})
	}
	b.Run("missing", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			v, err := s.View()
			must(b, err)
			value, err := v.Get(kv.KindData, fmt.Appendf(nil, "key%06d-", i*7919%n))
			if err != nil || value != nil {
				b.Fatal(i, err)
			}
			v.Close()
		}
	})
}

// BenchmarkStateDBList is a listing of 100 keys.
func BenchmarkStateDBList(b *testing.B) {
	const n = 100_000
	s := benchStateDB(b, n)
	i := 0
	for b.Loop() {
		i++
		v, err := s.View()
		must(b, err)
		left := 100
		must(b, v.Ascend(kv.KindData, fmt.Appendf(nil, "key%06d", i*7919%(n-100)), func(k, value []byte) bool {
			left--
			return left > 0
		}))
		v.Close()
	}
}

// BenchmarkStateDBCheckpoint merges 10,000 changes at random places of 100,000 keys.
func BenchmarkStateDBCheckpoint(b *testing.B) {
	const n, changes = 100_000, 10_000
	s := benchStateDB(b, n)
	round := 0
	for b.Loop() {
		b.StopTimer()
		round++
		f := &listed{Slot: 1}
		for i := range changes {
			key := fmt.Appendf(nil, "key%06d", i*(n/changes)+round%(n/changes))
			f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: key,
				Value: []byte(strings.Repeat("w", 250))})
		}
		b.StartTimer()
		must(b, checkpoint(s, f))
	}
}
