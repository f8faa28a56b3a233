package proto

import (
	"fmt"
	"strings"
	"testing"
)

// pipeline is n SETs of 256 bytes.
func pipeline(n int) []byte {
	one := "*3\r\n$3\r\nSET\r\n$16\r\nkey:000000001234\r\n$256\r\n" + strings.Repeat("v", 256) + "\r\n"
	return []byte(strings.Repeat(one, n))
}

// arrivals is a source whose reads never cross from one arrival into the next.
type arrivals struct {
	left  [][]byte
	reads int
}

func (a *arrivals) Read(p []byte) (int, error) {
	a.reads++
	n := copy(p, a.left[0])
	if a.left[0] = a.left[0][n:]; len(a.left[0]) == 0 {
		a.left = a.left[1:]
	}
	return n, nil
}

// A client that sends pipelines has each of them read at once, soon: what is read at once is carried out at once.
func TestAPipelineIsReadAtOnce(t *testing.T) {
	for _, size := range []int{1, 16, 100, 400} {
		const rounds = 20
		src := &arrivals{}
		for range rounds {
			src.left = append(src.left, pipeline(size))
		}
		r := NewReader(src, testLimits)
		for i := range rounds {
			before := src.reads
			for range size {
				if _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
			}
			if reads := src.reads - before; i >= rounds/2 && reads != 1 {
				t.Errorf("pipeline %d of %d commands took %d reads", i, size, reads)
			}
		}
		if len(r.in.b) > mostBuffer {
			t.Errorf("the buffer has %d bytes", len(r.in.b))
		}
	}
}

// A buffer that has grown for a client that sends much is given back when it sends little.
func TestTheBufferOfABulkClientIsGivenBack(t *testing.T) {
	src := &arrivals{left: [][]byte{pipeline(5000)}}
	for range calmReads + 1 {
		src.left = append(src.left, []byte("PING\r\n"))
	}
	r := NewReader(src, Limits{Args: 10, Bulk: 1 << 20, Command: 1 << 20})
	for range 5000 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.in.b); n != mostBuffer {
		t.Errorf("the buffer of a bulk client has %d bytes", n)
	}
	for range calmReads + 1 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.in.b); n > keptBuffer {
		t.Errorf("it keeps %d bytes", n)
	}
}

// BenchmarkPipeline reads pipelines of 16 commands, and counts the reads.
func BenchmarkPipeline(b *testing.B) {
	for _, size := range []int{16, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			all := pipeline(size)
			src := &arrivals{left: [][]byte{all}}
			r := NewReader(src, testLimits)
			b.SetBytes(int64(len(all) / size))
			b.ReportAllocs()
			left := 0
			for b.Loop() {
				if left == 0 {
					src.left, left = append(src.left[:0], all), size
				}
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
				left--
			}
			b.ReportMetric(float64(src.reads)/float64(b.N), "reads/op")
		})
	}
}
