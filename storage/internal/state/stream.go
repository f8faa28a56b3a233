package state

import (
	"bytes"
	"fmt"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage/internal/sealed"
)

// SnapshotStream takes the pieces of a snapshot in order and cuts them into records. It makes all checks that need no
// store: the checksums of pieces and records, their order, and in End number and digest of the records against the
// header. It holds no more than a piece and the record that is not whole yet. Used by one goroutine at a time.
type SnapshotStream struct {
	header  snapshotHeader
	seed    sealed.Seed
	offset  uint64 // of the stream, taken so far
	rest    []byte // of the stream, behind the last whole record
	last    *kv.Change
	records sealed.Digest
}

// OpenSnapshotStream returns the stream of the snapshot with that header. Safe with anything.
func OpenSnapshotStream(header []byte) (*SnapshotStream, error) {
	h, err := openHeader(header)
	if err != nil {
		return nil, err
	}
	return &SnapshotStream{header: h, seed: pieceSeed(header)}, nil
}

// Info returns what the header says of the snapshot.
func (s *SnapshotStream) Info() SnapshotInfo { return s.header.info(s.seed) }

// Membership returns the newest members that the sender knew. It may be ahead of the state's own record of them.
func (s *SnapshotStream) Membership() ident.Membership { return s.header.Membership.Clone() }

// Add takes the next piece and calls fn for each record that it completes. The bytes of c are valid during the call
// only. After ErrBadPiece nothing was taken; after any other error the stream is of no use any more.
func (s *SnapshotStream) Add(piece []byte, fn func(c kv.Change) error) error {
	part, err := s.open(piece)
	if err != nil {
		return err
	}
	return s.each(part, func(c *kv.Change, _ []byte) error { return fn(*c) })
}

// open returns the part of the stream that is in piece, if it is the next one.
func (s *SnapshotStream) open(piece []byte) (part []byte, err error) {
	at, part, err := openPiece(s.seed, piece)
	if err == nil && at != s.offset {
		err = fmt.Errorf("%w: it begins at byte %d and not at %d", ErrBadPiece, at, s.offset)
	}
	return part, err
}

// each takes the next part of the stream, and calls fn for each record with the bytes of it as they are in state.db.
func (s *SnapshotStream) each(part []byte, fn func(c *kv.Change, record []byte) error) error {
	s.offset += uint64(len(part))
	s.rest = append(s.rest, part...)
	rest := s.rest
	for {
		c, record, next, ok, err := cutStreamRecord(rest)
		if err == nil && ok {
			err = follow(s.last, &c)
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		s.records.Add(record)
		if err := fn(&c, record); err != nil {
			return err
		}
		s.last = &kv.Change{Kind: c.Kind, Key: bytes.Clone(c.Key)}
		rest = next
	}
	s.rest = append(s.rest[:0], rest...)
	if cap(s.rest) > 4*MaxSnapshotPieceBytes && len(s.rest) <= MaxSnapshotPieceBytes {
		s.rest = bytes.Clone(s.rest) // a long record was in it
	}
	return nil
}

// End returns an error unless all records of the header came, and nothing else.
func (s *SnapshotStream) End() error {
	if len(s.rest) > 0 {
		return fmt.Errorf("it ends in the middle of a record, %d bytes into it", len(s.rest))
	}
	if s.records != s.header.Records {
		return fmt.Errorf("%d records came and %d should have, or not these", s.records.Count, s.header.Records.Count)
	}
	return nil
}
