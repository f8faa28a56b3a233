package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"tenure/internal/wrongport"
)

// A frame:
//
//	offset  bytes  content
//	0       4      n, the length of the body, big endian
//	4       4      CRC32C of bytes 0 to 3 and of the body
//	8       n      the body
//
// A frame that fails its check says nothing about where the next one starts: the reader of a stream gives it up.

// FrameHeaderBytes is what a frame costs above its body.
const FrameHeaderBytes = 8

// firstStepBytes is the most memory that a body is given at first, whatever length its frame declares.
const firstStepBytes = 256 << 10

var (
	// ErrTooLarge: the header declares a body above the reader's limit. Nothing was allocated for it.
	ErrTooLarge = errors.New("frame above the size limit")
	// ErrChecksum: header or body was damaged, or the bytes were never a frame.
	ErrChecksum = errors.New("frame with a wrong checksum")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(length, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, body)
}

// appendFrameHeader appends what stands before body in its frame.
func appendFrameHeader(b, body []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return binary.BigEndian.AppendUint32(b, checksum(b[start:], body))
}

// AppendFrame appends the frame of body to b. A body has less than 4 GiB.
func AppendFrame(b, body []byte) []byte {
	b = slices.Grow(b, FrameHeaderBytes+len(body))
	return append(appendFrameHeader(b, body), body...)
}

// FrameReader reads frames from a stream. It is not safe for concurrent use.
type FrameReader struct {
	r     *bufio.Reader
	limit int
	head  [FrameHeaderBytes]byte
}

// NewFrameReader returns a reader of frames with bodies of at most limit bytes from r.
func NewFrameReader(r io.Reader, limit int) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, 16<<10), limit: limit}
}

// Reset makes the reader read another stream from its beginning. The limit stays.
func (r *FrameReader) Reset(stream io.Reader) { r.r.Reset(stream) }

// SetLimit changes the largest body that Next accepts.
func (r *FrameReader) SetLimit(limit int) { r.limit = limit }

// Next returns the body of the next frame, in memory of its own that the caller may keep; it is never nil without an
// error. The error is io.EOF at the end of the stream between two frames and io.ErrUnexpectedEOF within one. After any
// error the stream is of no more use.
//
// Memory grows with the bytes that have arrived, not with the length declared.
func (r *FrameReader) Next() ([]byte, error) {
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

// Foreign returns the protocol that a connection speaks instead of frames, after Next has returned ErrTooLarge for the
// first one.
func (r *FrameReader) Foreign() wrongport.Protocol { return wrongport.Of(r.head[:]) }

// ForeignAnswer is Foreign for the side that has dialled.
func (r *FrameReader) ForeignAnswer() wrongport.Protocol { return wrongport.OfAnswer(r.head[:]) }

// Ready reports whether the next frame has arrived whole and small enough to be buffered, so that Next would not wait.
func (r *FrameReader) Ready() bool {
	if r.r.Buffered() < FrameHeaderBytes {
		return false
	}
	head, err := r.r.Peek(FrameHeaderBytes)
	return err == nil && uint64(r.r.Buffered()) >= FrameHeaderBytes+uint64(binary.BigEndian.Uint32(head))
}

func (r *FrameReader) body(n int) ([]byte, error) {
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
