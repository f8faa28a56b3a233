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

// Maker makes a backup of a snapshot. It holds one piece in memory. It is not safe for concurrent use.
type Maker struct {
	snapshot *storage.Snapshot
	info     Info
	header   []byte // body of the header frame; nil after it was returned
	all      hash.Hash
	at       uint64 // number of bytes returned so far
	pieces   uint64
	after    []byte // position of the next piece
	last     bool   // all pieces were returned
	ended    bool
	buf      []byte
}

// NewMaker returns a Maker of a backup of s. The caller closes s after the last call of Next. made is the date of the
// backup.
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

// Next returns the next bytes of the backup, which are valid until the next call, and io.EOF after the last ones. Any
// other error comes from the snapshot.
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

// frame appends a frame to buf.
func (m *Maker) frame(kind byte, body []byte) {
	m.buf = frames.Append(m.buf, m.at+uint64(len(m.buf)), kind, body)
}
