package frame

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// benchBodies: a vote, an Accept of one command, one of sixty-four.
var benchBodies = []int{100, 400, 20_000}

// BenchmarkWrite is one frame gathered and flushed, checksum included.
func BenchmarkWrite(b *testing.B) {
	for _, n := range benchBodies {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			w, body := NewWriter(io.Discard), make([]byte, n)
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				w.Add(body)
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWrite16 is sixteen frames of 400 bytes to one flush.
func BenchmarkWrite16(b *testing.B) {
	w, body := NewWriter(io.Discard), make([]byte, 400)
	b.ReportAllocs()
	b.SetBytes(16 * 400)
	for b.Loop() {
		for range 16 {
			w.Add(body)
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is one frame read and checked. The one allocation is the body, which the caller keeps.
func BenchmarkRead(b *testing.B) {
	for _, n := range benchBodies {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			var stream bytes.Buffer
			w := NewWriter(&stream)
			w.Add(make([]byte, n))
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
			r := NewReader(&again{text: stream.Bytes()}, 1<<20)
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// again reads the same text for ever.
type again struct {
	text []byte
	at   int
}

func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}
