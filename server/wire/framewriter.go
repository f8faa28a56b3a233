package wire

import (
	"fmt"
	"math"
)

const (
	copyBytes        = 4 << 10 // bodies up to this size are copied next to their header; larger ones are not
	keepScratchBytes = 1 << 20 // a FrameWriter keeps at most this much memory when it is reset
)

// FrameWriter gathers frames that are to be written together. The zero value is ready. It is not safe for concurrent
// use.
type FrameWriter struct {
	scratch []byte // headers, and bodies that are small
	parts   []part
	list    [][]byte
	bytes   int
}

// part is a run of scratch up to end, followed by a large body.
type part struct {
	end   int
	large []byte
}

// Add appends a frame to those already gathered. The bytes of body must not change until Reset. It panics on a body of
// 4 GiB or more: callers have limits far below.
func (w *FrameWriter) Add(body []byte) {
	if uint64(len(body)) > math.MaxUint32 {
		panic(fmt.Sprintf("wire: body of %d bytes", len(body)))
	}
	w.scratch = appendFrameHeader(w.scratch, body)
	if len(body) <= copyBytes {
		w.scratch = append(w.scratch, body...)
	} else {
		w.parts = append(w.parts, part{end: len(w.scratch), large: body})
	}
	w.bytes += FrameHeaderBytes + len(body)
}

// Buffered returns the number of bytes in Parts.
func (w *FrameWriter) Buffered() int { return w.bytes }

// Parts returns the gathered frames as byte slices that are to be written one after the other. They belong to the
// FrameWriter, and are valid until the next Add or Reset. The caller may change the list.
func (w *FrameWriter) Parts() [][]byte {
	from := 0
	w.list = w.list[:0]
	for _, p := range w.parts {
		w.list = append(w.list, w.scratch[from:p.end], p.large)
		from = p.end
	}
	if from < len(w.scratch) {
		w.list = append(w.list, w.scratch[from:])
	}
	return w.list
}

// Reset forgets what was gathered.
func (w *FrameWriter) Reset() {
	clear(w.parts)
	clear(w.list)
	w.scratch, w.parts, w.bytes = w.scratch[:0], w.parts[:0], 0
	if cap(w.scratch) > keepScratchBytes {
		w.scratch = nil
	}
}
