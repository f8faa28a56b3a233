package kv

import (
	"fmt"
	"testing"
	"time"
)

// benchState has n keys, all checkpointed, as a server after some time.
func benchState(b *testing.B, n int) (*State, *MemStateDB) {
	stateDB := NewMemStateDB()
	s, err := Open(stateDB, DefaultLimits)
	if err != nil {
		b.Fatal(err)
	}
	var batch []byte
	for i := range n {
		c := Command{Op: OpSet, Key: benchKey(i), Value: make([]byte, 256)}
		batch = AppendBatch(batch, EncodeCommand(&c))
		if i%64 == 63 || i == n-1 {
			if _, err := s.Apply(s.Applied()+1, batch); err != nil {
				b.Fatal(err)
			}
			batch = nil
		}
	}
	benchCheckpoint(b, s, stateDB)
	return s, stateDB
}

func benchKey(i int) string { return fmt.Sprintf("bench/%010d", i) }

func benchCheckpoint(b *testing.B, s *State, stateDB *MemStateDB) {
	if f := s.Freeze(); f != nil {
		stateDB.Merge(f.Checkpoint())
		if err := s.Checkpointed(); err != nil {
			b.Fatal(err)
		}
	}
}

// One op is one batch of 64 sets of 256 bytes to keys all over the state database.
func BenchmarkApply64(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("keyed=%v", keyed), func(b *testing.B) {
			const n = 100_000
			s, stateDB := benchState(b, n)
			commands := make([]Command, 64)
			i := 0
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				var batch []byte
				for j := range commands {
					i++
					c := Command{Op: OpSet, Key: benchKey(i * 7919 % n), Value: make([]byte, 256)}
					if keyed {
						c = c.keyed(fmt.Sprintf("%036d", i), s.Revision())
					}
					batch = AppendBatch(batch, EncodeCommand(&c))
					commands[j] = c
				}
				if s.TableBytes() > 32<<20 {
					benchCheckpoint(b, s, stateDB)
				}
				b.StartTimer()
				if _, err := s.Apply(s.Applied()+1, batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/set")
		})
	}
}

// BenchmarkApply1 is a batch of one set of 256 bytes, as a lone client makes them.
func BenchmarkApply1(b *testing.B) {
	const n = 100_000
	s, stateDB := benchState(b, n)
	batches := make([][]byte, 4096)
	for i := range batches {
		c := Command{Op: OpSet, Key: benchKey(i * 7919 % n), Value: make([]byte, 256)}
		batches[i] = AppendBatch(nil, EncodeCommand(&c))
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		if _, err := s.Apply(s.Applied()+1, batches[i%len(batches)]); err != nil {
			b.Fatal(err)
		}
		if s.TableBytes() > 32<<20 {
			b.StopTimer()
			benchCheckpoint(b, s, stateDB)
			b.StartTimer()
		}
	}
}

func BenchmarkGet(b *testing.B) {
	const n = 100_000
	s, _ := benchState(b, n)
	for _, layer := range []string{"image", "table"} {
		if layer == "table" {
			var batch []byte
			for i := range n / 2 {
				c := set(benchKey(i), "x")
				batch = AppendBatch(batch, EncodeCommand(&c))
			}
			if _, err := s.Apply(s.Applied()+1, batch); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(layer, func(b *testing.B) {
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				if _, found, err := s.Get(benchKey(i * 7919 % (n / 2))); !found || err != nil {
					b.Fatal(found, err)
				}
			}
		})
	}
}

func BenchmarkSnapshotList100(b *testing.B) {
	s, _ := benchState(b, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		v, err := s.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		if err := v.Walk(Range{Prefix: "bench/", Start: benchKey(5000), Limit: 100},
			func(Entry) bool { n++; return true }); err != nil || n != 100 {
			b.Fatal(n, err)
		}
		v.Close()
	}
}

// BenchmarkFreezeAndCheckpoint is a whole checkpoint of 10,000 keyed sets, all that it takes included. The metrics are
// what Freeze takes, for which alone the lock is held, and what it takes to range over the changes once.
func BenchmarkFreezeAndCheckpoint(b *testing.B) {
	s, stateDB := benchState(b, 0)
	var freezing, checkpointing time.Duration
	b.ReportAllocs()
	for b.Loop() {
		var batch []byte
		for i := range 10_000 {
			c := Command{Op: OpSet, Key: benchKey(i), Value: make([]byte, 256)}
			c = c.keyed(fmt.Sprint(s.Applied(), i), s.Revision())
			batch = AppendBatch(batch, EncodeCommand(&c))
		}
		if _, err := s.Apply(s.Applied()+1, batch); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		f := s.Freeze()
		frozen := time.Now()
		checkpoint := f.Checkpoint()
		for c := range checkpoint.Changes {
			_ = c
		}
		freezing, checkpointing = freezing+frozen.Sub(began), checkpointing+time.Since(frozen)
		stateDB.Merge(checkpoint)
		if err := s.Checkpointed(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(freezing.Nanoseconds())/float64(b.N), "freeze-ns/op")
	b.ReportMetric(float64(checkpointing.Nanoseconds())/float64(b.N), "fold-ns/op")
}

// One op is one batch of 64 commands: 32 keys written and deleted again, all over the state database.
func BenchmarkSetAndDelete64(b *testing.B) {
	const n = 100_000
	s, stateDB := benchState(b, n)
	batches := make([][]byte, 1024)
	for i := range batches {
		for j := range 32 {
			c := Command{Op: OpSet, Key: benchKey((i*32 + j) * 7919 % n), Value: make([]byte, 256)}
			d := del(c.Key)
			batches[i] = AppendBatch(AppendBatch(batches[i], EncodeCommand(&c)), EncodeCommand(&d))
		}
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		if _, err := s.Apply(s.Applied()+1, batches[i%len(batches)]); err != nil {
			b.Fatal(err)
		}
		if s.TableBytes() > 32<<20 {
			b.StopTimer()
			benchCheckpoint(b, s, stateDB)
			b.StartTimer()
		}
	}
}
