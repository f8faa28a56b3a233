package backup

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"slices"

	"tenure/internal/codec"
	"tenure/internal/frames"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage"
)

// Reader reads a backup from beginning to end, and checks all of it. It is safe with anything, and holds no more in
// memory than a piece and the largest record. Errors of the underlying reader are returned as they are; all others wrap
// ErrDamaged. Used by one goroutine at a time.
type Reader struct {
	r      io.Reader
	at     uint64 // bytes taken
	all    hash.Hash
	info   Info
	stream *storage.SnapshotStream
	pieces uint64
	buf    []byte
}

// Open reads what a backup says of itself. It reads no further than that.
func Open(r io.Reader) (*Reader, error) {
	b := &Reader{r: r, all: sha256.New()}
	if err := b.prelude(); err != nil {
		return nil, err
	}
	at := b.at
	kind, body, err := b.frame()
	if err != nil {
		return nil, err
	}
	if kind != kindHeader {
		return nil, format.DamagedAt(at, "a frame of kind %d instead of the header", kind)
	}
	var snapshot []byte
	if b.info, snapshot, err = infoOf(body); err == nil {
		b.stream, err = storage.OpenSnapshotStream(snapshot)
	}
	if err != nil {
		return nil, format.DamagedAt(at, "the header: %w", err)
	}
	return b, nil
}

// Info returns what the backup says of itself.
func (b *Reader) Info() Info { return b.info }

// Membership returns the newest members that the node knew which made the backup.
func (b *Reader) Membership() ident.Membership { return b.stream.Membership() }

// Offset returns how many bytes of the backup were read.
func (b *Reader) Offset() uint64 { return b.at }

// Records reads the rest of the backup and calls fn for each record, by space and key; what a record points to is valid
// during the call only. It returns nil once all of the backup was read and is what a Maker made: before that the records
// are not to be relied on. An error of fn ends it.
func (b *Reader) Records(fn func(kv.Change) error) error {
	for {
		at := b.at
		before := b.all.Sum(nil) // in case that the end follows
		kind, body, err := b.frame()
		switch {
		case err != nil:
			return err
		case kind == kindPiece:
			err = b.piece(at, body, fn)
		case kind == kindEnd:
			return b.end(at, body, before)
		default:
			err = format.DamagedAt(at, "a frame of kind %d instead of a piece or the end", kind)
		}
		if err != nil {
			return err
		}
	}
}

// Verify reads the rest of the backup, and tells read after each record how many there were.
func (b *Reader) Verify(read func(records uint64)) error {
	n := uint64(0)
	return b.Records(func(kv.Change) error {
		n++
		read(n)
		return nil
	})
}

func (b *Reader) piece(at uint64, body []byte, fn func(kv.Change) error) error {
	b.pieces++
	var failed error
	err := b.stream.Add(body, func(c kv.Change) error {
		failed = fn(c)
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return format.DamagedAt(at, "piece %d: %w", b.pieces, err)
	}
	return nil
}

// end checks the last frame. sum is that of all bytes before it.
func (b *Reader) end(at uint64, body, sum []byte) error {
	var e end
	if err := codec.Unmarshal(body, &e); err != nil {
		return format.DamagedAt(at, "the end: %w", err)
	}
	if e.Pieces != b.pieces || !bytes.Equal(e.SHA256, sum) {
		return format.DamagedAt(at, "the end is of %d pieces with SHA-256 %x, and %d came, with %x", e.Pieces, e.SHA256,
			b.pieces, sum)
	}
	if err := b.stream.End(); err != nil {
		return format.DamagedAt(at, "%w", err)
	}
	var more [1]byte
	n, err := io.ReadFull(b.r, more[:])
	if n > 0 {
		return format.DamagedAt(b.at, "there is something behind the end")
	}
	if err != io.EOF {
		return err
	}
	return nil
}

func (b *Reader) prelude() error {
	var p [frames.PreludeBytes]byte
	if err := b.read(p[:], 0, "the first bytes"); err != nil {
		return err
	}
	if p[0] == 0x1f && p[1] == 0x8b { // gzip
		return format.DamagedAt(0, "it is compressed: if GET /v1/snapshot gave it, take the backup out with tar -xzOf FILE "+
			"state.bin > BACKUP")
	}
	return format.CheckPrelude(p[:])
}

// frame reads a frame. The body is valid until the next one is read.
func (b *Reader) frame() (kind byte, body []byte, err error) {
	at := b.at
	var head [frames.HeadBytes]byte
	if err := b.read(head[:], at, "a frame"); err != nil {
		return 0, nil, err
	}
	kind, length, err := format.CheckHead(at, head[:])
	if err != nil {
		return 0, nil, err
	}
	b.buf = slices.Grow(b.buf[:0], length+frames.SumBytes)[:length+frames.SumBytes]
	if err := b.read(b.buf, at, fmt.Sprintf("a frame of %d bytes", length)); err != nil {
		return 0, nil, err
	}
	body = b.buf[:length]
	return kind, body, format.CheckSum(at, head[:], body, b.buf[length:])
}

// read fills p. from is where what it is a part of begins.
func (b *Reader) read(p []byte, from uint64, what string) error {
	n, err := io.ReadFull(b.r, p)
	b.at += uint64(n)
	b.all.Write(p[:n])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return format.DamagedAt(b.at, "it ends there, and %s had begun at byte %d", what, from)
	}
	return err
}
