package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
)

// Snapshot is the state database as it was at one checkpoint, to be sent to another node. It reads the file on demand,
// and keeps in memory only a record that is longer than a piece. Until Close the pages of its checkpoint are not used
// again, so that state.db grows by what checkpoints meanwhile replace. Used by one goroutine at a time; it must be
// closed before the store.
type Snapshot struct {
	view    *view
	header  []byte
	longest time.Duration
	slot    uint64
	seed    sealed.Seed
	long    longRecord // in which the last piece ended
}

// longRecord is a record of the stream that goes over several pieces.
type longRecord struct {
	kind        kv.RecordKind
	key, record []byte
}

// Snapshot opens a snapshot of the newest checkpoint of a node of cluster. longest is what its Longest returns. It
// waits for a running checkpoint, since a view would show a part of it. ErrInterrupted: Interrupt has left one
// unfinished. disk.ErrRefused: there is none yet.
func (s *DB) Snapshot(
	cluster ident.ClusterID, membership ident.Membership, longest time.Duration,
) (*Snapshot, error) {
	v, marks, size, err := s.pinWhole()
	if err != nil {
		return nil, err
	}
	h := snapshotHeader{
		Version: snapshotVersion, Cluster: cluster, Slot: marks.Slot, Meta: marks.Meta, Records: marks.Records,
		Bytes: size, Membership: membership,
	}
	header := h.seal()
	return &Snapshot{view: v, header: header, longest: longest, slot: h.Slot, seed: pieceSeed(header)}, nil
}

// Longest returns the quarantine for the longest named lease that this node's cluster allows, as StartRecord has it.
func (s *Snapshot) Longest() time.Duration { return s.longest }

// pinWhole opens a view of a whole checkpoint, and returns its marks and what it takes on disk.
func (s *DB) pinWhole() (*view, *Marks, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return nil, nil, 0, err
	}
	marks := s.checkpointed.Load()
	switch {
	case marks.Plan.Changes.Count > 0:
		return nil, nil, 0, ErrInterrupted
	case marks.Slot == 0:
		return nil, nil, 0, fmt.Errorf("%w: a snapshot of %s, which has no checkpoint yet", disk.ErrRefused,
			s.files.StatePath())
	}
	size, err := s.Measure()
	if err != nil {
		return nil, nil, 0, err
	}
	v, err := s.pin()
	if err != nil {
		return nil, nil, 0, err
	}
	return &view{file: s.stateFile, pages: v}, marks, size.Live, nil
}

// Header returns what the receiver is told first. The bytes are shared.
func (s *Snapshot) Header() []byte { return s.header }

// Slot returns the slot after which the state was as the snapshot has it.
func (s *Snapshot) Slot() multipaxos.Slot { return multipaxos.Slot(s.slot) }

// Close ends the view. It may be called more than once.
func (s *Snapshot) Close() { s.view.Close() }

// Piece returns the piece that begins at position after, which is empty for the first one and else what an earlier call
// returned as next. It has at most maxBytes, within bounds of its own. next is empty when the stream has ended. An
// error is ErrBadPiece if it is about after; any other is damage and ends the store.
func (s *Snapshot) Piece(after []byte, maxBytes int) (piece, next []byte, err error) {
	p, err := decodePosition(after)
	if err != nil {
		return nil, nil, err
	}
	w := pieceWriter{at: p, buf: make([]byte, 8, min(max(maxBytes, minPieceBytes), MaxSnapshotPieceBytes)-sealed.SumBytes)}
	binary.BigEndian.PutUint64(w.buf, p.offset)
	known := len(p.key) == 0 // the record where the piece before ended was found
	l := &s.long
	goesOn := !known && l.kind == p.kind && bytes.Equal(l.key, p.key)
	if goesOn {
		w.add(l.record)
	}
	for kind := int(p.kind); kind < len(bucketNames) && !w.full(); kind++ {
		var from []byte
		if kind == int(p.kind) {
			from = w.at.key
		}
		err := s.view.ascend(kv.RecordKind(kind), from, func(key, record, _ []byte) bool {
			if !known && !bytes.Equal(key, p.key) {
				return false
			}
			if known {
				w.at.kind, w.at.key, w.at.sent = kv.RecordKind(kind), append([]byte(nil), key...), 0
			}
			known = true
			w.add(record)
			s.remember(&w, record)
			return !w.full()
		})
		if err != nil {
			return nil, nil, err
		}
		if !known {
			return nil, nil, fmt.Errorf("%w: no record has the key %q", ErrBadPiece, p.key)
		}
	}
	if !known && !goesOn {
		return nil, nil, fmt.Errorf("%w: no record of kind %d has the key %q", ErrBadPiece, p.kind, p.key)
	}
	if w.full() {
		next = w.at.encode()
	}
	return sealPiece(s.seed, w.buf), next, nil
}

// remember keeps record if it goes on in the next piece.
func (s *Snapshot) remember(w *pieceWriter, record []byte) {
	if s.long = (longRecord{}); w.at.sent < recordHeadBytes+len(w.at.key)+len(record) {
		s.long = longRecord{kind: w.at.kind, key: w.at.key, record: append([]byte(nil), record...)}
	}
}

// pieceWriter fills a piece.
type pieceWriter struct {
	at  position // behind what is in buf
	buf []byte   // its capacity is what fits
}

func (w *pieceWriter) full() bool { return len(w.buf) == cap(w.buf) }

// add takes as much as fits of what has not gone yet of the record under the position's key.
func (w *pieceWriter) add(record []byte) {
	var head [recordHeadBytes]byte
	head[0] = byte(w.at.kind)
	binary.BigEndian.PutUint32(head[1:], uint32(len(w.at.key)))
	binary.BigEndian.PutUint32(head[5:], uint32(len(record)))
	gone := w.at.sent
	for _, part := range [][]byte{head[:], w.at.key, record} {
		if gone >= len(part) {
			gone -= len(part)
			continue
		}
		n := min(len(part)-gone, cap(w.buf)-len(w.buf))
		w.buf = append(w.buf, part[gone:gone+n]...)
		w.at.sent += n
		w.at.offset += uint64(n)
		gone = 0
		if w.full() {
			return
		}
	}
}
