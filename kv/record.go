package kv

import (
	"encoding/binary"
	"errors"

	"tenure/internal/codec"
)

// The records of the image. An entry and a remembered key start with the version of their layout:
//
//	SpaceData   key                     1, flags, create, modify, lock (uvarints), value (the rest)
//	SpaceDedup  sequence, 8 bytes BE    1, code, revision, count (uvarints), hash (16 bytes), idempotency key (the rest)
//	meta        –                       msgpack of type meta
const recordVersion = 1

var errRecord = errors.New("not a record of a known layout")

// entryHeaderBytes and rememberedHeaderBytes bound what a record adds to the value or key in it.
const (
	entryHeaderBytes      = 1 + 4*binary.MaxVarintLen64
	rememberedHeaderBytes = 1 + 3*binary.MaxVarintLen64 + len(sum{})
)

func appendEntry(buf []byte, e *Entry) []byte {
	buf = append(buf, recordVersion)
	buf = binary.AppendUvarint(buf, e.Flags)
	buf = binary.AppendUvarint(buf, e.CreateIndex)
	buf = binary.AppendUvarint(buf, e.ModifyIndex)
	buf = binary.AppendUvarint(buf, e.LockIndex)
	return append(buf, e.Value...)
}

// decodeEntry reads the record of key. The value aliases b and is nil if it is empty.
func decodeEntry(key string, b []byte) (Entry, error) {
	r := reader{b: b}
	r.version()
	e := Entry{Key: key, Flags: r.uvarint(), CreateIndex: r.uvarint(), ModifyIndex: r.uvarint(), LockIndex: r.uvarint()}
	if r.bad || e.CreateIndex == 0 || e.ModifyIndex < e.CreateIndex {
		return Entry{}, damaged("entry of key %q: %w", key, errRecord)
	}
	if len(r.b) > 0 {
		e.Value = r.b
	}
	return e, nil
}

func appendRemembered(buf []byte, m *remembered) []byte {
	buf = append(buf, recordVersion)
	buf = binary.AppendUvarint(buf, uint64(m.result.Code))
	buf = binary.AppendUvarint(buf, m.result.Revision)
	buf = binary.AppendUvarint(buf, m.result.Count)
	buf = append(buf, m.sum[:]...)
	return append(buf, m.key...)
}

// decodeRemembered reads the record of a sequence number. It copies.
func decodeRemembered(seq uint64, b []byte) (remembered, error) {
	r := reader{b: b}
	r.version()
	code := r.uvarint()
	m := remembered{result: Result{Code: Code(code), Revision: r.uvarint(), Count: r.uvarint()}}
	if !r.bad && len(r.b) >= len(m.sum) {
		m.key = string(r.b[copy(m.sum[:], r.b):])
	}
	if m.key == "" || len(m.key) > MaxIdemKeyBytes || code == 0 || code > uint64(maxCode) {
		return remembered{}, damaged("idempotency record %d: %w", seq, errRecord)
	}
	return m, nil
}

func sequenceKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func parseSequenceKey(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, damaged("idempotency record under key %q: %w", b, errRecord)
	}
	return binary.BigEndian.Uint64(b), nil
}

const metaFormat = 1

// meta is the state's own record in every fold. First and Next say which dedup records must be there.
type meta struct {
	Format   uint64
	Slot     uint64
	Revision uint64
	Floor    uint64
	First    uint64
	Next     uint64
}

// decodeMeta reads the meta record that came with slot; none with slot 0 is a new state.
func decodeMeta(slot uint64, b []byte) (meta, error) {
	if slot == 0 && b == nil {
		return meta{Format: metaFormat}, nil
	}
	var m meta
	if err := codec.Unmarshal(b, &m); err != nil {
		return meta{}, damaged("meta record of slot %d: %w", slot, err)
	}
	switch {
	case m.Format != metaFormat:
		return meta{}, damaged("meta record of slot %d: format %d, this version reads format %d", slot, m.Format, metaFormat)
	case m.Slot != slot:
		return meta{}, damaged("the image is said to be of slot %d, its meta record is of slot %d", slot, m.Slot)
	case m.First > m.Next || m.Floor > m.Revision+1:
		return meta{}, damaged("meta record of slot %d: %w", slot, errRecord)
	}
	return m, nil
}

// reader takes records apart; bad stays set after the first thing that is not there.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) version() {
	if len(r.b) == 0 || r.b[0] != recordVersion {
		r.bad = true
		return
	}
	r.b = r.b[1:]
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}
