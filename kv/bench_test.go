package kv

import (
	"fmt"
	"syscall"
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

// applyOrders are the ways in which BenchmarkApply goes through keys. A hot key is one of few.
var applyOrders = []struct {
	name string
	keys uint64
	next func(i uint64) uint64 // the i-th key is this number modulo keys
}{
	{"sequential-10000", 10_000, func(i uint64) uint64 { return i }},
	{"sequential-300000", 300_000, func(i uint64) uint64 { return i }},
	{"random-10000", 10_000, scatter},
	{"random-300000", 300_000, scatter},
	{"hot-1", 1, scatter},
	{"hot-100", 100, scatter},
}

// scatter is SplitMix64: numbers that look drawn, the same in every run.
func scatter(i uint64) uint64 {
	i *= 0x9e3779b97f4a7c15
	i = (i ^ i>>30) * 0xbf58476d1ce4e5b9
	i = (i ^ i>>27) * 0x94d049bb133111eb
	return i ^ i>>31
}

// BenchmarkApply is plain puts of 256 bytes to keys that are in the memtable already, with an observer, as on a server
// between two checkpoints. One op is one put. Beside the time it tells the processor time of the whole process, the
// collector included, which other programs on the machine distort less.
func BenchmarkApply(b *testing.B) {
	for _, order := range applyOrders {
		b.Run(order.name, func(b *testing.B) {
			s, err := Open(NewMemStateDB(), DefaultLimits)
			if err != nil {
				b.Fatal(err)
			}
			s.Observe(Observer{Changed: func(Changed) {}})
			fill := newBenchPuts(1)
			for i := range order.keys { // in an order that gives every key memory of its own, not its neighbours'
				fill.apply(b, s, i*7919%order.keys, i)
			}
			for _, size := range []int{1, 32} {
				b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
					puts := newBenchPuts(size)
					b.ReportAllocs()
					b.ResetTimer()
					began := processorTime(b)
					for i := range uint64(b.N) {
						puts.apply(b, s, order.next(i)%order.keys, i)
					}
					b.ReportMetric(float64((processorTime(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
				})
			}
		})
	}
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// benchPuts is a batch of puts that is used again and again with other keys.
type benchPuts struct {
	batch []byte
	keys  [][]byte // within batch: the digits of each key
}

func newBenchPuts(size int) *benchPuts {
	p := &benchPuts{}
	c := Command{Op: OpSet, Key: benchKey(0), Value: make([]byte, 256)}
	command := EncodeCommand(&c)
	for range size {
		p.batch = AppendBatch(p.batch, command)
	}
	each := len(p.batch) / size
	for i := range size {
		digits := (i+1)*each - len(c.Value) - 10
		p.keys = append(p.keys, p.batch[digits:digits+10])
	}
	return p
}

// apply makes key, a number, that of the i-th put, and applies the batch when it is full.
func (p *benchPuts) apply(b *testing.B, s *State, key, i uint64) {
	at := int(i % uint64(len(p.keys)))
	digits := p.keys[at]
	for d := len(digits) - 1; d >= 0; d-- {
		digits[d] = '0' + byte(key%10)
		key /= 10
	}
	if at != len(p.keys)-1 {
		return
	}
	if _, err := s.Apply(s.Applied()+1, p.batch); err != nil {
		b.Fatal(err)
	}
}
