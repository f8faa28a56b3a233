package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"tenure/internal/codec"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage"
)

const (
	magic   = "TENUREBK"
	version = 1

	preludeBytes   = len(magic) + 4
	frameHeadBytes = 1 + 4
	crcBytes       = 4

	kindHeader = 1
	kindPiece  = 2
	kindEnd    = 3

	headerLimit = storage.MaxSnapshotHeaderBytes + 64
	endLimit    = 64
)

// ErrDamaged is wrapped by every error that says that a backup is not what a Maker made.
var ErrDamaged = errors.New("the backup is damaged")

// header is the body of the first frame. Fields are only added at the end.
type header struct {
	Made     int64  // in ms since 1970
	Snapshot []byte // as storage sealed it
}

// end is the body of the last frame.
type end struct {
	Pieces uint64
	SHA256 []byte
}

// Info is what a backup says of itself.
type Info struct {
	Cluster  ident.ClusterID
	Slot     uint64 // the state is as it was after this slot
	Revision uint64
	Era      uint64 // the newest era of named leases
	Made     time.Time
	Records  uint64
	Digest   uint64 // of the records; see storage.Store.Records
	Bytes    int64  // that the state takes in a data directory, about
	Meta     []byte // kv's record
}

// infoOf reads the body of a header.
func infoOf(body []byte) (info Info, snapshot []byte, err error) {
	var h header
	if err := codec.Unmarshal(body, &h); err != nil {
		return info, nil, err
	}
	s, err := storage.ParseSnapshot(h.Snapshot)
	if err != nil {
		return info, nil, err
	}
	reached, err := kv.ReadMeta(uint64(s.Slot), s.Meta)
	if err != nil {
		return info, nil, err
	}
	return Info{Cluster: s.Cluster, Slot: uint64(s.Slot), Revision: reached.Revision, Era: reached.Eras,
		Made: time.UnixMilli(h.Made), Records: s.Records, Digest: s.Digest, Bytes: s.Bytes, Meta: s.Meta}, h.Snapshot, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf returns the checksum of a frame that begins at byte at; frame is its head and its body.
func sumOf(at uint64, frame ...[]byte) uint32 {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], at)
	sum := crc32.Checksum(place[:], castagnoli)
	for _, part := range frame {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum
}

// damagedAt returns an ErrDamaged that names the place.
func damagedAt(at uint64, format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %w", ErrDamaged, at, fmt.Errorf(format, args...))
}
