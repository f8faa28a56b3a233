package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/multipaxos"
)

// A sealed record is a payload followed by a CRC32C over its bucket's name, its key and the payload. So neither flipped
// bits nor a record found under another key pass for the written one.

const crcBytes = 4

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	errShort    = errors.New("too short for a checksum")
	errChecksum = errors.New("fails its checksum")
)

// seed starts the checksums of one bucket.
type seed uint32

func seedOf(bucket string) seed { return seed(crc32.Checksum([]byte(bucket), castagnoli)) }

// sum binds key and payload; the key's length is mixed in, so that bytes cannot move between the two.
func (s seed) sum(key []byte, payload ...[]byte) uint32 {
	c := crc32.Update(uint32(s)+uint32(len(key))*0x9e3779b1, castagnoli, key)
	for _, p := range payload {
		c = crc32.Update(c, castagnoli, p)
	}
	return c
}

// seal appends the record of key and payload to buf.
func (s seed) seal(buf, key []byte, payload ...[]byte) []byte {
	for _, p := range payload {
		buf = append(buf, p...)
	}
	return binary.BigEndian.AppendUint32(buf, s.sum(key, payload...))
}

// open returns the payload of a record, a part of it, after checking it.
func (s seed) open(key, record []byte) ([]byte, error) {
	n := len(record) - crcBytes
	if n < 0 {
		return nil, errShort
	}
	if s.sum(key, record[:n]) != binary.BigEndian.Uint32(record[n:]) {
		return nil, errChecksum
	}
	return record[:n:n], nil
}

// openInto decodes the msgpack payload of a record into v.
func (s seed) openInto(key, record []byte, v any) error {
	payload, err := s.open(key, record)
	if err != nil {
		return err
	}
	return codec.Unmarshal(payload, v)
}

// digest stands for a set of records: how many there are, and a sum over their checksums that does not depend on their
// order. It is kept beside the records in the same transaction. So it shows a record that is lost, doubled or brought
// back, whatever happened to the pages on the way to the record.
type digest struct {
	Count uint64
	Sum   uint64
}

// add puts a sealed record into the set.
func (d *digest) add(record []byte) {
	d.Count++
	d.Sum += spread(record)
}

// remove takes a sealed record out of the set.
func (d *digest) remove(record []byte) {
	d.Count--
	d.Sum -= spread(record)
}

// spread mixes a record's checksum and length over 64 bits.
func spread(record []byte) uint64 {
	n := len(record) - crcBytes
	x := uint64(binary.BigEndian.Uint32(record[n:]))<<32 | uint64(uint32(n))
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The payload of an entry is its ballot, 32 bytes, and its value. Numbers are big-endian.
const ballotBytes = 32

func slotKey(s multipaxos.Slot) []byte { return binary.BigEndian.AppendUint64(nil, uint64(s)) }

func decodeSlot(key []byte) (multipaxos.Slot, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("a key of %d bytes is no slot", len(key))
	}
	return multipaxos.Slot(binary.BigEndian.Uint64(key)), nil
}

// sealEntry appends the record of e under key to buf.
func sealEntry(buf, key []byte, e *multipaxos.Entry) []byte {
	var head [ballotBytes]byte
	binary.BigEndian.PutUint64(head[0:], e.Ballot.Counter)
	binary.BigEndian.PutUint64(head[8:], e.Ballot.Restart)
	binary.BigEndian.PutUint64(head[16:], uint64(e.Ballot.Node))
	binary.BigEndian.PutUint64(head[24:], e.Ballot.Nonce)
	return entrySeed.seal(buf, key, head[:], e.Value)
}

// openEntry checks and decodes the record of an entry. Its value is a part of record.
func openEntry(key, record []byte) (multipaxos.Entry, error) {
	slot, err := decodeSlot(key)
	if err != nil {
		return multipaxos.Entry{}, err
	}
	p, err := entrySeed.open(key, record)
	if err != nil {
		return multipaxos.Entry{}, fmt.Errorf("the entry of slot %d %w", slot, err)
	}
	if len(p) < ballotBytes {
		return multipaxos.Entry{}, fmt.Errorf("the entry of slot %d has no whole ballot", slot)
	}
	return multipaxos.Entry{
		Slot: slot,
		Ballot: ballot.Ballot{
			Counter: binary.BigEndian.Uint64(p[0:]), Restart: binary.BigEndian.Uint64(p[8:]),
			Node: ballot.NodeID(binary.BigEndian.Uint64(p[16:])), Nonce: binary.BigEndian.Uint64(p[24:]),
		},
		Value: p[ballotBytes:],
	}, nil
}

// arena hands out pieces of a larger chunk, which stay untouched until the transaction that uses them has ended.
type arena struct{ chunk, free []byte }

const (
	arenaChunkBytes = 128 << 10 // of the first chunk
	arenaMaxBytes   = 1 << 20   // of the largest, which is kept
)

// reset makes the last chunk free again, once no transaction uses it.
func (a *arena) reset() { a.free = a.chunk }

// alloc returns an empty slice with space for n bytes.
func (a *arena) alloc(n int) []byte {
	if n > arenaMaxBytes/2 {
		return make([]byte, 0, n)
	}
	if len(a.free) < n { // once a chunk is as large as a transaction no more are made
		a.chunk = make([]byte, max(n, arenaChunkBytes, min(2*len(a.chunk), arenaMaxBytes)))
		a.free = a.chunk
	}
	piece := a.free[:0:n]
	a.free = a.free[n:]
	return piece
}
