package kv

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSequence is what a pipeline of 16 puts costs every node beside disk and network, for each put.
func BenchmarkSequence(b *testing.B) {
	const steps = 16
	value := []byte(strings.Repeat("v", 256))
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%012d", i)
	}
	c := Command{Op: OpSequence, Parts: make([]Part, steps)}
	next := 0
	fill := func() {
		for i := range c.Parts {
			c.Parts[i] = Command{Op: OpSet, Key: keys[next%len(keys)], Value: value}
			next += 7
		}
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += steps {
			fill()
			EncodeCommand(&c)
		}
	})
	b.Run("apply", func(b *testing.B) {
		s, err := Open(NewMemStateDB(), DefaultLimits)
		if err != nil {
			b.Fatal(err)
		}
		raise := level(NewestLevel)
		if _, err := s.Apply(1, AppendBatch(nil, EncodeCommand(&raise))); err != nil {
			b.Fatal(err)
		}
		s.Observe(Observer{Changed: func(Changed) {}})
		batches := make([][]byte, 997) // together they have all keys
		for i := range batches {
			fill()
			batches[i] = AppendBatch(nil, EncodeCommand(&c))
		}
		b.ReportAllocs()
		b.ResetTimer()
		for i := 0; i < b.N; i += steps {
			if _, err := s.Apply(s.Applied()+1, batches[next%len(batches)]); err != nil {
				b.Fatal(err)
			}
			next++
		}
	})
}
