package proto

import "io"

const (
	firstBuffer = 4 << 10
	keptBuffer  = 64 << 10  // a larger one is given back when it is empty
	mostBuffer  = 128 << 10 // for a client that sends as much at a time
	calmReads   = 16        // so many times in a row little was in it: it is too large
	readSpace   = 1 << 10   // at least so much is read at a time
)

// buffer holds what was read and not yet used. It grows with what arrives: a length that is only announced makes it at
// most double.
type buffer struct {
	src    io.Reader
	b      []byte
	begin  int
	end    int
	wanted int  // bytes that the next command needs, if known
	filled bool // the last read used all the space there was: more has arrived
	used   int  // how far it was filled since it was empty
	calm   int  // times in a row that a quarter of it was enough
}

func (b *buffer) unread() []byte { return b.b[b.begin:b.end] }

// drop forgets the first n bytes.
func (b *buffer) drop(n int) { b.begin, b.wanted = b.begin+n, 0 }

// want says how many bytes the next command needs.
func (b *buffer) want(n int) { b.wanted = n }

// fill reads once from the source.
func (b *buffer) fill() error {
	b.makeSpace()
	n, err := b.src.Read(b.b[b.end:])
	b.end += n
	b.filled, b.used = b.end == len(b.b), max(b.used, b.end)
	switch {
	case n > 0:
		return nil
	case err == io.EOF && b.end > b.begin:
		return io.ErrUnexpectedEOF
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// emptied gives a large buffer back that is larger than a pipeline needs.
func (b *buffer) emptied() {
	if b.calm++; b.used > len(b.b)/4 {
		b.calm = 0
	}
	b.used = 0
	if len(b.b) > mostBuffer || len(b.b) > keptBuffer && b.calm >= calmReads {
		b.b, b.filled, b.calm = nil, false, 0
	}
}

// makeSpace gives the buffer space for a read: for as much as a pipeline has, for what is read at a time is carried out
// at a time.
func (b *buffer) makeSpace() {
	held := b.end - b.begin
	if held == 0 {
		b.emptied()
	}
	need := max(readSpace, min(b.wanted-held, held))
	switch {
	case b.b == nil:
		b.b = make([]byte, firstBuffer)
	case b.filled && len(b.b) < mostBuffer, len(b.b)-held < need:
		grown := make([]byte, max(2*len(b.b), held+readSpace))
		copy(grown, b.unread())
		b.b = grown
	case len(b.b)-b.end >= need && (b.begin == 0 || held > len(b.b)/4):
		return
	default:
		copy(b.b, b.unread())
	}
	b.begin, b.end = 0, held
}
