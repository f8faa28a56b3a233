// Package etcdsnap reads the keys out of an etcd snapshot: the file that etcdctl snapshot save makes, or member/snap/db
// of a stopped etcd.
//
// It is a bbolt file. The bucket "key" has a record for each revision of each key that was not compacted:
//
//	key     main revision (8 bytes, big-endian) · '_' · sub revision (8 bytes) · 't' if the revision deletes the key
//	record  protobuf mvccpb.KeyValue: 1 key · 2 create revision · 3 mod revision · 4 version · 5 value · 6 lease
//
// The newest revision of a key says what it holds. etcdctl appends the SHA-256 of the file to it; one that is copied out
// of a data directory has none, which its length tells.
//
// Nothing is taken from the other buckets: leases, users and roles, alarms, members.
package etcdsnap

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"tenure/storage"
)

const (
	keyBucket     = "key"
	revisionBytes = 8 + 1 + 8
	tombstone     = 't'
	sumBytes      = sha256.Size
	// sector divides the size of every bbolt file; so a sum behind it shows.
	sector = 512
)

// ErrDamaged is wrapped by every error that says that a file is not what etcd made.
var ErrDamaged = errors.New("not a whole etcd snapshot")

// KeyValue is a key as etcd has it.
type KeyValue struct {
	Key    []byte
	Value  []byte
	Leased bool // it would have ended with its lease
}

// Snapshot is a snapshot that was opened. Used by one goroutine at a time.
type Snapshot struct {
	r    io.ReaderAt
	size int64
	// Summed tells that the file has a checksum, which was right.
	Summed bool
	// Revision is the newest in the file.
	Revision uint64

	seeds  [2]maphash.Seed
	newest map[hash]revision
}

// hash stands for a key, so that not all keys are in memory. With 128 bits no two keys of a snapshot share one.
type hash [2]uint64

func (s *Snapshot) hash(key []byte) hash {
	return hash{maphash.Bytes(s.seeds[0], key), maphash.Bytes(s.seeds[1], key)}
}

// revision is a revision of a key.
type revision struct {
	main, sub uint64
	deleted   bool
}

func (r revision) after(o revision) bool { return r.main > o.main || r.main == o.main && r.sub > o.sub }

// Open reads a file of so many bytes once, checks it, and learns which revision of each key is its newest. It keeps
// 100 bytes or so for each key in memory, and no value. Nothing may write to the file while the Snapshot is used. Errors
// wrap ErrDamaged.
func Open(r io.ReaderAt, size int64) (*Snapshot, error) {
	s := &Snapshot{r: r, size: size, newest: map[hash]revision{}}
	s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	if size%sector == sumBytes {
		s.size -= sumBytes
		if err := s.checkSum(); err != nil {
			return nil, err
		}
		s.Summed = true
	}
	found := false
	err := s.walk(func(rev revision, kv KeyValue) error {
		found = true
		s.Revision = max(s.Revision, rev.main)
		at := s.hash(kv.Key)
		if old, known := s.newest[at]; !known || rev.after(old) {
			s.newest[at] = rev
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: it has no keys, not even one that was deleted", ErrDamaged)
	}
	return s, nil
}

// checkSum compares the SHA-256 behind the file with what is before it.
func (s *Snapshot) checkSum() error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(s.r, 0, s.size)); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var want [sumBytes]byte
	if _, err := s.r.ReadAt(want[:], s.size); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !bytes.Equal(sum.Sum(nil), want[:]) {
		return fmt.Errorf("%w: its SHA-256 is not the one at its end: take another snapshot", ErrDamaged)
	}
	return nil
}

// Each reads the file again and calls fn with each key that is not deleted, in the order in which they were last written.
// What fn is given is valid until it returns. An error of fn ends it and is returned as it is.
func (s *Snapshot) Each(fn func(KeyValue) error) error {
	return s.walk(func(rev revision, kv KeyValue) error {
		if rev.deleted || s.newest[s.hash(kv.Key)] != rev {
			return nil
		}
		return fn(kv)
	})
}

// walk calls fn with each revision of each key.
func (s *Snapshot) walk(fn func(revision, KeyValue) error) error {
	var failed error
	err := storage.WalkBolt(s.r, s.size, func(bucket string, key, record []byte) error {
		if bucket != keyBucket {
			return nil
		}
		rev, err := parseRevision(key)
		if err != nil {
			return err
		}
		kv, err := parseKeyValue(record)
		if err != nil {
			return fmt.Errorf("revision %d/%d: %w", rev.main, rev.sub, err)
		}
		failed = fn(rev, kv)
		return failed
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

func parseRevision(b []byte) (revision, error) {
	deleted := len(b) == revisionBytes+1 && b[revisionBytes] == tombstone
	if len(b) != revisionBytes && !deleted || b[8] != '_' {
		return revision{}, fmt.Errorf("%q is not a revision", b)
	}
	return revision{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[9:]), deleted}, nil
}

// parseKeyValue reads a mvccpb.KeyValue. Fields that it does not know are skipped.
func parseKeyValue(b []byte) (kv KeyValue, err error) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return kv, protowire.ParseError(n)
		}
		b = b[n:]
		switch {
		case (field == 1 || field == 5) && kind == protowire.BytesType:
			var text []byte
			if text, n = protowire.ConsumeBytes(b); field == 1 {
				kv.Key = text
			} else {
				kv.Value = text
			}
		case field == 6 && kind == protowire.VarintType:
			var lease uint64
			lease, n = protowire.ConsumeVarint(b)
			kv.Leased = lease != 0
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return kv, protowire.ParseError(n)
		}
		b = b[n:]
	}
	if len(kv.Key) == 0 {
		return kv, errors.New("it has no key")
	}
	return kv, nil
}
