package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tenure/internal/codec"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/sealed"
)

// A snapshot travels as a header and a stream. The header is msgpack of type snapshotHeader, sealed. The stream is all
// records of the state database by kind and key. Each has the kind, the lengths of key and record (4 bytes each,
// big-endian), the key, and the record as it is in state.db, with its own checksum. The stream is cut into pieces
// anywhere:
//
//	piece      where it begins in the stream (8 bytes, big-endian), a part of the stream, CRC32C (4 bytes)
//	position   where the next piece begins in the stream (8 bytes), the kind (1), how many bytes of the record under
//	           the key have gone (4), the key: what a sender needs to go on, whatever it remembers
//
// The checksums of pieces are seeded with that of the header, so that a piece of another snapshot is none of this one.
const (
	snapshotVersion = 1
	recordHeadBytes = 1 + 4 + 4
	positionBytes   = 8 + 1 + 4
	minPieceBytes   = 4 << 10
	// streamRecordLimit bounds a record of the stream: the largest value with what kv puts before it.
	streamRecordLimit = kv.MaxValueBytes + 64<<10
)

// The bounds of what Snapshot hands out.
const (
	MaxSnapshotHeaderBytes = 1 << 20
	MaxSnapshotPieceBytes  = 1 << 20 // with its place and its checksum
)

var (
	snapshotSeed = sealed.SeedOf("snapshot")
	headerKey    = []byte("header")
)

// ErrBadPiece: a piece or a position is not what a sender of this snapshot made, or not the next one. No part of it was
// taken, and it may be asked for again.
var ErrBadPiece = errors.New("not the next piece of the snapshot")

// snapshotHeader says what a snapshot is of. Fields are only added at the end.
type snapshotHeader struct {
	Version    uint64
	Cluster    ident.ClusterID
	Slot       uint64
	Meta       []byte           // kv's own record
	Records    sealed.Digest    // of all kinds
	Bytes      int64            // that the state takes in a state database, about
	Membership ident.Membership // durable at the sender, which may be newer than Slot; zero: it had none
}

// SnapshotInfo is what a header says of a snapshot.
type SnapshotInfo struct {
	ID      uint64 // tells snapshots apart
	Cluster ident.ClusterID
	Slot    multipaxos.Slot // the state is as it was after this slot
	Records uint64
	Digest  uint64 // of the records; see Store.Records
	Bytes   int64  // that it takes on disk, about
	Meta    []byte // kv's, as of Slot
}

// ParseSnapshot returns what a header says. Safe with anything.
func ParseSnapshot(header []byte) (SnapshotInfo, error) {
	h, err := openHeader(header)
	if err != nil {
		return SnapshotInfo{}, err
	}
	return h.info(pieceSeed(header)), nil
}

// info returns what h says; pieces is the seed of the snapshot's pieces.
func (h *snapshotHeader) info(pieces sealed.Seed) SnapshotInfo {
	id := uint64(pieces)<<32 | h.Records.Sum&0xffffffff
	return SnapshotInfo{ID: id, Cluster: h.Cluster, Slot: multipaxos.Slot(h.Slot), Records: h.Records.Count,
		Digest: h.Records.Sum, Bytes: h.Bytes, Meta: h.Meta}
}

func openHeader(header []byte) (h snapshotHeader, err error) {
	if len(header) > MaxSnapshotHeaderBytes {
		return h, fmt.Errorf("%w: a header of %d bytes", ErrBadPiece, len(header))
	}
	if err := snapshotSeed.OpenInto(headerKey, header, &h); err != nil {
		return h, fmt.Errorf("%w: the header: %w", ErrBadPiece, err)
	}
	if h.Version != snapshotVersion || h.Slot == 0 || h.Bytes < 0 || h.Bytes > math.MaxInt64/2 {
		return h, fmt.Errorf("%w: a header of version %d for slot %d; this program reads version %d",
			ErrBadPiece, h.Version, h.Slot, snapshotVersion)
	}
	return h, nil
}

func (h *snapshotHeader) seal() []byte { return snapshotSeed.Seal(nil, headerKey, codec.Marshal(h)) }

// pieceSeed seeds the checksums of the pieces of a snapshot.
func pieceSeed(header []byte) sealed.Seed { return sealed.Seed(snapshotSeed.Sum(nil, header)) }

// sealPiece completes a piece, which has its place and its part of the stream.
func sealPiece(s sealed.Seed, piece []byte) []byte {
	return binary.BigEndian.AppendUint32(piece, s.Sum(nil, piece))
}

// openPiece returns where a piece begins and its part of the stream.
func openPiece(s sealed.Seed, piece []byte) (at uint64, part []byte, err error) {
	body, err := s.Open(nil, piece)
	if err != nil || len(body) < 8 {
		return 0, nil, fmt.Errorf("%w: a piece of %d bytes that is not what was sent", ErrBadPiece, len(piece))
	}
	return binary.BigEndian.Uint64(body), body[8:], nil
}

// cutStreamRecord takes the first record off b. ok is false if it is not there whole.
func cutStreamRecord(b []byte) (c kv.Change, record, rest []byte, ok bool, err error) {
	if len(b) < recordHeadBytes {
		return c, nil, b, false, nil
	}
	keyLen, recordLen := int64(binary.BigEndian.Uint32(b[1:])), int64(binary.BigEndian.Uint32(b[5:]))
	if keyLen == 0 || keyLen > sealed.MaxKeyBytes || recordLen < sealed.SumBytes || recordLen > streamRecordLimit {
		return c, nil, b, false, fmt.Errorf("a record of %d and %d bytes", keyLen, recordLen)
	}
	if int64(len(b)) < recordHeadBytes+keyLen+recordLen {
		return c, nil, b, false, nil
	}
	c.Kind, c.Key = kv.RecordKind(b[0]), b[recordHeadBytes:][:keyLen:keyLen]
	record = b[recordHeadBytes+keyLen:][:recordLen:recordLen]
	if !c.Kind.Known() {
		return c, nil, b, false, fmt.Errorf("a record of kind %d, which this version does not know", c.Kind)
	}
	if c.Value, err = bucketSeeds[c.Kind].Open(c.Key, record); err != nil {
		return c, nil, b, false, fmt.Errorf("the record of key %q %w", c.Key, err)
	}
	return c, record, b[recordHeadBytes+keyLen+recordLen:], true, nil
}

// position is where a piece begins. The zero value is the beginning.
type position struct {
	offset uint64        // in the stream
	kind   kv.RecordKind // of the record that went last, or in part
	sent   int           // bytes of it that have gone; more than it has: all
	key    []byte
}

func (p *position) encode() []byte {
	b := make([]byte, 0, positionBytes+len(p.key))
	b = binary.BigEndian.AppendUint64(b, p.offset)
	b = append(b, byte(p.kind))
	b = binary.BigEndian.AppendUint32(b, uint32(p.sent))
	return append(b, p.key...)
}

func decodePosition(b []byte) (p position, err error) {
	if len(b) == 0 {
		return p, nil
	}
	if len(b) < positionBytes+1 || len(b) > positionBytes+sealed.MaxKeyBytes {
		return p, fmt.Errorf("%w: a position of %d bytes", ErrBadPiece, len(b))
	}
	return position{offset: binary.BigEndian.Uint64(b), kind: kv.RecordKind(b[8]),
		sent: int(binary.BigEndian.Uint32(b[9:])), key: b[positionBytes:]}, nil
}
