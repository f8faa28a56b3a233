package backup

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/codec"
	"tenure/internal/frames"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage"
)

const (
	kindHeader = 1
	kindPiece  = 2
	kindEnd    = 3

	headerLimit = storage.MaxSnapshotHeaderBytes + 64
	endLimit    = 64
)

// ErrDamaged is wrapped by every error that says that a backup is not what a Maker made.
var ErrDamaged = errors.New("the backup is damaged")

var format = frames.Format{Magic: "TENUREBK", Version: 1, Name: "a backup", Damaged: ErrDamaged, Limits: map[byte]int{
	kindHeader: headerLimit, kindPiece: storage.MaxSnapshotPieceBytes, kindEnd: endLimit}}

// header is the body of the first frame. Fields are only added at the end.
type header struct {
	Made     int64  // in ms since 1970
	Snapshot []byte // as storage sealed it
	// Longest is the quarantine of the longest named lease that the cluster allows, in ns; 0: an older version made
	// this.
	Longest int64
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
	// Longest is for how long acceptors of a new cluster keep silent at least, since the old one may have granted
	// leases that live (A4); 0: unknown.
	Longest time.Duration
}

// infoOf reads the body of a header.
func infoOf(body []byte) (info Info, snapshot []byte, err error) {
	var h header
	if err := codec.Unmarshal(body, &h); err != nil {
		return info, nil, err
	}
	if h.Longest < 0 {
		return info, nil, fmt.Errorf("%w: its longest lease takes %d ns", ErrDamaged, h.Longest)
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
		Made: time.UnixMilli(h.Made), Records: s.Records, Digest: s.Digest, Bytes: s.Bytes, Meta: s.Meta,
		Longest: time.Duration(h.Longest)}, h.Snapshot, nil
}
