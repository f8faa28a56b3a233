// Package sealed has the records of the files of a store. A sealed record is a payload followed by a CRC32C over its
// bucket's name, its key and the payload. So neither flipped bits nor a record found under another key pass for the
// written one. A Digest stands for a set of records, and an Arena has the memory of those that a transaction writes.
package sealed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/codec"
	"tenure/storage/internal/disk"
)

// MaxBytes and MaxKeyBytes bound a sealed record and its key: bbolt's own limits, less what a seal adds.
const (
	MaxBytes    = 1<<31 - 1 - 256
	MaxKeyBytes = 32 << 10
)

// SumBytes is the length of the checksum at the end of a record.
const SumBytes = 4

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	errShort    = errors.New("too short for a checksum")
	errChecksum = errors.New("fails its checksum")
)

// Seed starts the checksums of one bucket.
type Seed uint32

// SeedOf returns the seed of the bucket of that name.
func SeedOf(bucket string) Seed { return Seed(crc32.Checksum([]byte(bucket), castagnoli)) }

// Sum returns the checksum of a record. It binds key and payload; the key's length is mixed in, so that bytes cannot
// move between the two.
func (s Seed) Sum(key []byte, payload ...[]byte) uint32 {
	c := crc32.Update(uint32(s)+uint32(len(key))*0x9e3779b1, castagnoli, key)
	for _, p := range payload {
		c = crc32.Update(c, castagnoli, p)
	}
	return c
}

// Seal appends the record of key and payload to buf.
func (s Seed) Seal(buf, key []byte, payload ...[]byte) []byte {
	for _, p := range payload {
		buf = append(buf, p...)
	}
	return binary.BigEndian.AppendUint32(buf, s.Sum(key, payload...))
}

// Open returns the payload of a record, a part of it, after checking it.
func (s Seed) Open(key, record []byte) ([]byte, error) {
	n := len(record) - SumBytes
	if n < 0 {
		return nil, errShort
	}
	if s.Sum(key, record[:n]) != binary.BigEndian.Uint32(record[n:]) {
		return nil, errChecksum
	}
	return record[:n:n], nil
}

// OpenInto decodes the msgpack payload of a record into v.
func (s Seed) OpenInto(key, record []byte, v any) error {
	payload, err := s.Open(key, record)
	if err != nil {
		return err
	}
	return codec.Unmarshal(payload, v)
}

// Put stores v, as msgpack and sealed, under key. Without a bucket it returns an error that wraps disk.ErrBadRecord.
func (s Seed) Put(b *bolt.Bucket, key []byte, v any) error {
	if b == nil {
		return fmt.Errorf("%w: the bucket of %q is missing", disk.ErrBadRecord, key)
	}
	return b.Put(key, s.Seal(nil, key, codec.Marshal(v)))
}

// Digest stands for a set of records: how many there are, and a sum over their checksums that does not depend on their
// order. It is kept beside the records in the same transaction. So it shows a record that is lost, doubled or brought
// back, whatever happened to the pages on the way to the record.
type Digest struct {
	Count uint64
	Sum   uint64
}

// Add puts a sealed record into the set.
func (d *Digest) Add(record []byte) {
	d.Count++
	d.Sum += spread(record)
}

// Remove takes a sealed record out of the set.
func (d *Digest) Remove(record []byte) {
	d.Count--
	d.Sum -= spread(record)
}

// spread mixes a record's checksum and length over 64 bits.
func spread(record []byte) uint64 {
	n := len(record) - SumBytes
	x := uint64(binary.BigEndian.Uint32(record[n:]))<<32 | uint64(uint32(n))
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
