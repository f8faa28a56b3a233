package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

const testLimit = 1 << 20

func encode(bodies ...[]byte) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, b := range bodies {
		w.Add(b)
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func TestFramesComeBackWholeAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 64), rapid.IntRange(copyBytes-2, copyBytes+2), rapid.IntRange(firstStepBytes-1, 3*firstStepBytes))
		var stream bytes.Buffer
		w := NewWriter(&stream)
		var want [][]byte
		for range rapid.IntRange(0, 4).Draw(t, "flushes") {
			buffered := 0
			for range rapid.IntRange(0, 5).Draw(t, "frames") {
				b := bytes.Repeat([]byte{byte(len(want) + 1)}, size.Draw(t, "size"))
				w.Add(b)
				want = append(want, b)
				buffered += HeaderBytes + len(b)
			}
			before := stream.Len()
			if w.Buffered() != buffered {
				t.Fatalf("%d bytes buffered, want %d", w.Buffered(), buffered)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if stream.Len()-before != buffered || w.Buffered() != 0 {
				t.Fatalf("wrote %d of %d bytes", stream.Len()-before, buffered)
			}
		}
		r := NewReader(&stream, testLimit)
		for i, b := range want {
			got, err := r.Next()
			if err != nil || !bytes.Equal(got, b) || got == nil {
				t.Fatalf("frame %d: %d bytes, want %d, %v", i, len(got), len(b), err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("end of stream: %v", err)
		}
	})
}

func TestCutStreamIsUnexpectedEOF(t *testing.T) {
	whole := encode([]byte("hello"), bytes.Repeat([]byte("x"), 2*firstStepBytes))
	for _, cut := range []int{1, 7, 8, 12, 14, 21, 22, 22 + firstStepBytes, len(whole) - 1} {
		r := NewReader(iotest.OneByteReader(bytes.NewReader(whole[:cut])), testLimit)
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	whole := encode([]byte("the body"))
	for i := range len(whole) * 8 {
		bad := bytes.Clone(whole)
		bad[i/8] ^= 1 << (i % 8)
		got, err := NewReader(bytes.NewReader(bad), testLimit).Next()
		if err == nil {
			t.Errorf("bit %d: read %q", i, got)
		}
	}
}

func TestLengthAboveTheLimitIsRefusedBeforeAllocating(t *testing.T) {
	r := NewReader(bytes.NewReader(encode(make([]byte, 11), make([]byte, 11))), 11)
	if _, err := r.Next(); err != nil {
		t.Fatalf("body of just the limit: %v", err)
	}
	r.SetLimit(10)
	if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("body above the limit: %v", err)
	}
}

func TestMemoryFollowsTheBytesThatCame(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, 1<<31)
	head = append(head, make([]byte, 4+100)...)
	for name, limit := range map[string]int{"refused": testLimit, "legal": 1 << 31} {
		if got := allocated(func() {
			if _, err := NewReader(bytes.NewReader(head), limit).Next(); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}); got > 2*firstStepBytes {
			t.Errorf("%s: %d bytes allocated for 100", name, got)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestWriteErrorsAreReturned(t *testing.T) {
	for _, n := range []int{1, copyBytes + 1} {
		w := NewWriter(failing{})
		w.Add(make([]byte, n))
		if err := w.Flush(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzReader(f *testing.F) {
	f.Add(encode([]byte("a"), nil, []byte("bc")))
	f.Add(encode(make([]byte, 300)))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in), 1<<31)
		if got := allocated(func() {
			for {
				body, err := r.Next()
				if err != nil {
					return
				}
				if len(body)+HeaderBytes > len(in) {
					t.Errorf("body of %d bytes out of %d", len(body), len(in))
				}
			}
		}); got > uint64(3*len(in)+8*firstStepBytes) {
			t.Errorf("%d bytes allocated for %d", got, len(in))
		}
	})
}

func BenchmarkWriteRead(b *testing.B) {
	body := make([]byte, 1000)
	var stream bytes.Buffer
	w := NewWriter(&stream)
	r := NewReader(&stream, testLimit)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		w.Add(body)
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
