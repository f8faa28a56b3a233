package backup

import (
	"crypto/sha256"
	"hash"
	"io"
	"time"

	"tenure/internal/codec"
	"tenure/internal/frames"
	"tenure/storage"
)

// Maker makes a backup of a snapshot. It holds one piece in memory. Used by one goroutine at a time.
type Maker struct {
	snapshot *storage.Snapshot
	info     Info
	header   []byte // body; nil once it was handed out
	all      hash.Hash
	at       uint64 // bytes handed out
	pieces   uint64
	after    []byte // position of the next piece
	last     bool   // all pieces were handed out
	ended    bool
	buf      []byte
}

// NewMaker returns a Maker. The snapshot stays the caller's to close. made is when the backup is made.
func NewMaker(s *storage.Snapshot, made time.Time) *Maker {
	m := &Maker{snapshot: s, all: sha256.New(),
		header: codec.Marshal(&header{Made: made.UnixMilli(), Snapshot: s.Header()})}
	var err error
	if m.info, _, err = infoOf(m.header); err != nil {
		panic("backup: the header of a snapshot cannot be read: " + err.Error())
	}
	return m
}

// Info returns what the backup says of itself.
func (m *Maker) Info() Info { return m.info }

// Next returns the next bytes of the backup, which stay valid until the next call, and io.EOF behind the last ones. Any
// other error is one of the snapshot.
func (m *Maker) Next() ([]byte, error) {
	m.buf = m.buf[:0]
	switch {
	case m.header != nil:
		m.buf = append(m.buf, format.Begin()...)
		m.frame(kindHeader, m.header)
		m.header = nil
	case !m.last:
		piece, next, err := m.snapshot.Piece(m.after, storage.MaxSnapshotPieceBytes)
		if err != nil {
			return nil, err
		}
		m.frame(kindPiece, piece)
		m.after, m.last = next, len(next) == 0
		m.pieces++
	case !m.ended:
		m.frame(kindEnd, codec.Marshal(&end{Pieces: m.pieces, SHA256: m.all.Sum(nil)}))
		m.ended = true
	default:
		return nil, io.EOF
	}
	m.at += uint64(len(m.buf))
	m.all.Write(m.buf)
	return m.buf, nil
}

// frame puts a frame behind what is in buf.
func (m *Maker) frame(kind byte, body []byte) {
	m.buf = frames.Append(m.buf, m.at+uint64(len(m.buf)), kind, body)
}
