// Package etcdsnap reads the keys out of an etcd snapshot: the file that etcdctl snapshot save makes, or member/snap/db
// of a stopped etcd.
//
// It is a bbolt file. The bucket "key" has a record for each revision of each key that was not compacted:
//
//	key     main revision (8 bytes, big-endian) · '_' · sub revision (8 bytes) · 't' if the revision deletes the key
//	record  protobuf mvccpb.KeyValue: 1 key · 2 create revision · 3 mod revision · 4 version · 5 value · 6 lease
//
// The newest revision of a key has its value. etcdctl appends the SHA-256 of the file to it. A file copied from a data
// directory has no SHA-256, as its length shows.
//
// The other buckets (leases, users and roles, alarms, members) are ignored.
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

	"tenure/storage/internal/pages"
)

const (
	keyBucket     = "key"
	revisionBytes = 8 + 1 + 8
	tombstone     = 't'
	sumBytes      = sha256.Size
	// sector divides the size of every bbolt file; so a sum behind it shows.
	sector = 512
)

// ErrDamaged is wrapped by every error that means that a file is not what etcd has written.
var ErrDamaged = errors.New("not a whole etcd snapshot")

// KeyValue is a key of etcd and its value.
type KeyValue struct {
	Key    []byte
	Value  []byte
	Leased bool // attached to a lease, so etcd would delete it when the lease ends
}

// Snapshot is an open snapshot. It is not safe for concurrent use.
type Snapshot struct {
	r    io.ReaderAt
	size int64
	// Summed is true if the file has a checksum, which Open has verified.
	Summed bool
	// Revision is the newest revision in the file.
	Revision uint64

	seeds  [2]maphash.Seed
	newest map[hash]revision
}

// hash identifies a key, so that keys need not be in memory. It has 128 bits, so that no two keys of a snapshot share
// one.
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

// Open reads a file of size bytes once, checks it, and finds the newest revision of each key. It keeps about 100 bytes
// for each key in memory, and no values. Nothing may write to the file while the Snapshot is in use. Errors wrap
// ErrDamaged.
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

// checkSum compares the SHA-256 at the end of the file with the bytes before it.
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

// Each reads the file again and calls fn with each key that is not deleted, in the order in which they were last
// written. The KeyValue is valid until fn returns. Each stops at the first error of fn and returns it unchanged.
func (s *Snapshot) Each(fn func(KeyValue) error) error {
	return s.walk(func(rev revision, kv KeyValue) error {
		if rev.deleted || s.newest[s.hash(kv.Key)] != rev {
			return nil
		}
		return fn(kv)
	})
}

// walk calls fn with every revision of every key.
func (s *Snapshot) walk(fn func(revision, KeyValue) error) error {
	var failed error
	err := pages.Walk(s.r, s.size, func(bucket string, key, record []byte) error {
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

// parseKeyValue decodes an mvccpb.KeyValue. It skips unknown fields.
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
