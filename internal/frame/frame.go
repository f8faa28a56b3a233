// Package frame cuts a stream of bytes into checked, bounded frames.
//
//	offset  bytes  content
//	0       4      n, the length of the body, big endian
//	4       4      CRC32C of bytes 0 to 3 and of the body
//	8       n      the body
//
// A frame that fails its check says nothing about where the next one starts: the reader of a stream gives it up.
package frame

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net"
)

// HeaderBytes is what a frame costs above its body.
const HeaderBytes = 8

const (
	firstStepBytes   = 256 << 10 // a body is at first given at most this much memory, whatever it declares
	copyBytes        = 4 << 10   // bodies up to this size are copied next to their header; larger ones are not
	keepScratchBytes = 1 << 20   // a Writer keeps at most this much memory between flushes
)

var (
	// ErrTooLarge: the header declares a body above the Reader's limit. Nothing was allocated for it.
	ErrTooLarge = errors.New("frame above the size limit")
	// ErrChecksum: header or body was damaged, or the bytes were never a frame.
	ErrChecksum = errors.New("frame with a wrong checksum")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(length, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, body)
}

// Reader reads frames. It is not safe for concurrent use.
type Reader struct {
	r     *bufio.Reader
	limit int
	head  [HeaderBytes]byte
}

// NewReader reads frames with bodies of at most limit bytes from r.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 16<<10), limit: limit}
}

// SetLimit changes the largest body that Next accepts.
func (r *Reader) SetLimit(limit int) { r.limit = limit }

// Next is the body of the next frame, in memory of its own that the caller may keep; it is never nil without an
// error. The error is io.EOF at the end of the stream between two frames and io.ErrUnexpectedEOF within one; after any
// error the stream is of no more use.
//
// Memory grows with the bytes that have arrived, not with the length declared.
func (r *Reader) Next() ([]byte, error) {
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(r.head[:4])
	if uint64(n) > uint64(max(r.limit, 0)) {
		return nil, fmt.Errorf("%w: %d bytes declared, at most %d allowed", ErrTooLarge, n, r.limit)
	}
	body, err := r.body(int(n))
	if err != nil {
		return nil, err
	}
	if checksum(r.head[:4], body) != binary.BigEndian.Uint32(r.head[4:]) {
		return nil, ErrChecksum
	}
	return body, nil
}

// Ready tells whether the next frame has arrived whole and small enough to be buffered, so that Next would not wait.
func (r *Reader) Ready() bool {
	if r.r.Buffered() < HeaderBytes {
		return false
	}
	head, err := r.r.Peek(HeaderBytes)
	return err == nil && uint64(r.r.Buffered()) >= HeaderBytes+uint64(binary.BigEndian.Uint32(head))
}

func (r *Reader) body(n int) ([]byte, error) {
	body := make([]byte, min(n, firstStepBytes))
	for have := 0; ; {
		m, err := io.ReadFull(r.r, body[have:])
		if err == io.EOF && n > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		have += m
		if have == n {
			return body, nil
		}
		longer := make([]byte, min(n, 2*have))
		copy(longer, body)
		body = longer
	}
}

// Writer gathers frames and writes them together. It is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	scratch []byte // headers, and bodies that are small
	parts   []part
	buffers net.Buffers
	bytes   int
}

// part is a run of scratch up to end, followed by a large body, or by nothing if that is nil.
type part struct {
	end   int
	large []byte
}

// NewWriter writes frames to w. If w is a TCP connection, a flush is one writev however many frames it holds.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Add puts a frame behind those already gathered. The bytes of body must not change until Flush returns. It panics
// on a body of 4 GiB or more: callers have limits far below.
func (w *Writer) Add(body []byte) {
	if uint64(len(body)) > math.MaxUint32 {
		panic(fmt.Sprintf("frame: body of %d bytes", len(body)))
	}
	start := len(w.scratch)
	w.scratch = binary.BigEndian.AppendUint32(w.scratch, uint32(len(body)))
	w.scratch = binary.BigEndian.AppendUint32(w.scratch, checksum(w.scratch[start:], body))
	if len(body) <= copyBytes {
		w.scratch = append(w.scratch, body...)
	} else {
		w.parts = append(w.parts, part{end: len(w.scratch), large: body})
	}
	w.bytes += HeaderBytes + len(body)
}

// Buffered is the number of bytes that Flush would write.
func (w *Writer) Buffered() int { return w.bytes }

// Flush writes what was gathered and forgets it, also if it fails: after an error the stream is of no more use.
func (w *Writer) Flush() error {
	defer w.reset()
	if len(w.parts) == 0 {
		if len(w.scratch) == 0 {
			return nil
		}
		_, err := w.w.Write(w.scratch)
		return err
	}
	from := 0
	list := w.buffers[:0]
	for _, p := range w.parts {
		list = append(list, w.scratch[from:p.end], p.large)
		from = p.end
	}
	if from < len(w.scratch) {
		list = append(list, w.scratch[from:])
	}
	w.buffers = list // WriteTo eats its receiver: it gets a copy of the slice header
	_, err := list.WriteTo(w.w)
	return err
}

func (w *Writer) reset() {
	clear(w.parts)
	clear(w.buffers)
	w.scratch, w.parts, w.bytes = w.scratch[:0], w.parts[:0], 0
	if cap(w.scratch) > keepScratchBytes {
		w.scratch = nil
	}
}
