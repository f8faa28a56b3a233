package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

const testLimit = 1 << 20

func framed(bodies ...[]byte) (out []byte) {
	for _, b := range bodies {
		out = AppendFrame(out, b)
	}
	return out
}

func TestFramesComeBackWholeAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 64), rapid.IntRange(copyBytes-2, copyBytes+2),
			rapid.IntRange(firstStepBytes-1, 3*firstStepBytes))
		var stream bytes.Buffer
		var w FrameWriter
		var want [][]byte
		for range rapid.IntRange(0, 4).Draw(t, "flushes") {
			buffered := 0
			for range rapid.IntRange(0, 5).Draw(t, "frames") {
				b := bytes.Repeat([]byte{byte(len(want) + 1)}, size.Draw(t, "size"))
				w.Add(b)
				want = append(want, b)
				buffered += FrameHeaderBytes + len(b)
			}
			before := stream.Len()
			if w.Buffered() != buffered {
				t.Fatalf("%d bytes buffered, want %d", w.Buffered(), buffered)
			}
			for _, part := range w.Parts() {
				stream.Write(part)
			}
			w.Reset()
			if stream.Len()-before != buffered || w.Buffered() != 0 {
				t.Fatalf("wrote %d of %d bytes", stream.Len()-before, buffered)
			}
		}
		r := NewFrameReader(&stream, testLimit)
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
	whole := framed([]byte("hello"), bytes.Repeat([]byte("x"), 2*firstStepBytes))
	for _, cut := range []int{1, 7, 8, 12, 14, 21, 22, 22 + firstStepBytes, len(whole) - 1} {
		r := NewFrameReader(iotest.OneByteReader(bytes.NewReader(whole[:cut])), testLimit)
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
	whole := framed([]byte("the body"))
	for i := range len(whole) * 8 {
		bad := bytes.Clone(whole)
		bad[i/8] ^= 1 << (i % 8)
		got, err := NewFrameReader(bytes.NewReader(bad), testLimit).Next()
		if err == nil {
			t.Errorf("bit %d: read %q", i, got)
		}
	}
}

func TestLengthAboveTheLimitIsRefusedBeforeAllocating(t *testing.T) {
	r := NewFrameReader(bytes.NewReader(framed(make([]byte, 11), make([]byte, 11))), 11)
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
			if _, err := NewFrameReader(bytes.NewReader(head), limit).Next(); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}); got > 2*firstStepBytes {
			t.Errorf("%s: %d bytes allocated for 100", name, got)
		}
	}
}

// For any bytes, allocations are bounded by the bytes received, and every returned frame is in them.
func FuzzFrameReader(f *testing.F) {
	f.Add(framed([]byte("a"), nil, []byte("bc")))
	f.Add(framed(make([]byte, 300)))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewFrameReader(bytes.NewReader(in), 1<<31)
		if got := allocated(func() {
			for {
				body, err := r.Next()
				if err != nil {
					return
				}
				if !bytes.Contains(in, AppendFrame(nil, body)) {
					t.Errorf("body of %d bytes that is not in %d", len(body), len(in))
				}
			}
		}); got > uint64(3*len(in)+8*firstStepBytes) {
			t.Errorf("%d bytes allocated for %d", got, len(in))
		}
	})
}
