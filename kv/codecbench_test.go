package kv

import "testing"

func benchCommand(key string) Command {
	return Command{Op: OpSet, Key: benchKey(7), Value: make([]byte, 256), IdemKey: key, Base: 1 << 20}
}

// BenchmarkEncodeCommand is a put of 256 bytes on its way into the log.
func BenchmarkEncodeCommand(b *testing.B) {
	c := benchCommand("")
	b.ReportAllocs()
	for b.Loop() {
		EncodeCommand(&c)
	}
}

// BenchmarkDecodeCommand is the same put on its way out, as Apply does it but with a copy of the value.
func BenchmarkDecodeCommand(b *testing.B) {
	c := benchCommand("5f0c6f0e-9c4b-4b57-8d57-3f9a3d4ff0aa")
	text := EncodeCommand(&c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCommand(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendBatch64 gathers sixty-four encoded puts into a batch; BenchmarkDecodeBatch64 takes it apart.
func BenchmarkAppendBatch64(b *testing.B) {
	c := benchCommand("")
	text := EncodeCommand(&c)
	buf := make([]byte, 0, 64*(len(text)+3))
	b.ReportAllocs()
	b.SetBytes(int64(64 * len(text)))
	for b.Loop() {
		buf = buf[:0]
		for range 64 {
			buf = AppendBatch(buf, text)
		}
	}
}

func BenchmarkDecodeBatch64(b *testing.B) {
	c := benchCommand("")
	var batch []byte
	for range 64 {
		batch = AppendBatch(batch, EncodeCommand(&c))
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(batch)))
	for b.Loop() {
		n := 0
		if err := DecodeBatch(batch, func([]byte) bool { n++; return true }); err != nil || n != 64 {
			b.Fatal(n, err)
		}
	}
}
