package backup

import (
	"crypto/sha256"
	"fmt"
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
	first    []byte // body of the header frame
	begun    bool   // it was returned
	all      hash.Hash
	at       uint64 // number of bytes returned so far
	pieces   uint64
	after    []byte // position of the next piece
	last     bool   // all pieces were returned
	ended    bool
	buf      []byte
}

// NewMaker returns a Maker of a backup of s. The caller closes s after the last call of Next. made is the date of the
// backup. An error means that nobody could read it.
func NewMaker(s *storage.Snapshot, made time.Time) (*Maker, error) {
	first := codec.Marshal(&header{Made: made.UnixMilli(), Snapshot: s.Header(), Longest: int64(s.Longest())})
	info, _, err := infoOf(first)
	if err != nil {
		return nil, fmt.Errorf("a backup of the state through slot %d cannot be made: %w", s.Slot(), err)
	}
	return &Maker{snapshot: s, info: info, first: first, all: sha256.New()}, nil
}

// Anew returns a Maker of the same backup, from its beginning.
func (m *Maker) Anew() *Maker {
	return &Maker{snapshot: m.snapshot, info: m.info, first: m.first, all: sha256.New()}
}

// Info returns what the backup says of itself.
func (m *Maker) Info() Info { return m.info }

// Next returns the next bytes of the backup, which are valid until the next call, and io.EOF after the last ones. Any
// other error comes from the snapshot.
func (m *Maker) Next() ([]byte, error) {
	m.buf = m.buf[:0]
	switch {
	case !m.begun:
		m.buf = append(m.buf, format.Begin()...)
		m.frame(kindHeader, m.first)
		m.begun = true
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
