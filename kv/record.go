package kv

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// The records of the state database. An entry and a remembered key start with the version of their layout:
//
//	KindData   key                     1, flags, create, modify, lock (uvarints), value (the rest)
//	                                    2, …, lock, TTL in ns (uvarint), session (piece), value: if either is there
//	KindDedup  sequence, 8 bytes BE    1, code, revision, count (uvarints), hash (16 bytes), key (the rest)
//	                                    2, …, count, dropped (0 or 1), body (piece), hash, key: if either is there
//	meta        –                       msgpack of type meta
//
// A piece is a length as a uvarint, and so many bytes. The other kinds are in registerrecord.go.
const (
	recordVersion = 1
	recordLonger  = 2 // of entries and remembered keys
)

var errRecord = errors.New("not a record of a known layout")

// entryHeaderBytes bounds what the record of an entry adds to its value.
const entryHeaderBytes = 1 + 5*binary.MaxVarintLen64 + 1 + sessionIDBytes

func appendEntry(buf []byte, e *Entry) []byte {
	longer := e.Session != "" || e.TTL != 0
	if longer {
		buf = append(buf, recordLonger)
	} else {
		buf = append(buf, recordVersion)
	}
	buf = binary.AppendUvarint(buf, e.Flags)
	buf = binary.AppendUvarint(buf, e.CreateIndex)
	buf = binary.AppendUvarint(buf, e.ModifyIndex)
	buf = binary.AppendUvarint(buf, e.LockIndex)
	if longer {
		buf = binary.AppendUvarint(buf, uint64(e.TTL))
		buf = appendPiece(buf, e.Session)
	}
	return append(buf, e.Value...)
}

// decodeEntry reads the record of key. The value aliases b and is nil if it is empty.
func decodeEntry(key string, b []byte) (Entry, error) {
	e, ok := parseEntry(key, b)
	if !ok || e.CreateIndex == 0 || e.ModifyIndex < e.CreateIndex {
		return Entry{}, damaged("entry of key %q: %w", key, errRecord)
	}
	return e, nil
}

// ReadEntry returns the entry whose record in KindData a snapshot has under key. It copies. Safe with anything.
func ReadEntry(key, record []byte) (Entry, error) {
	e, err := decodeEntry(string(key), record)
	e.Value = slices.Clone(e.Value)
	return e, err
}

// parseEntry is decodeEntry also for what is not a whole entry.
func parseEntry(key string, b []byte) (Entry, bool) {
	r := reader{b: b}
	longer := r.longer()
	e := Entry{Key: key, Flags: r.uvarint(), CreateIndex: r.uvarint(), ModifyIndex: r.uvarint(), LockIndex: r.uvarint()}
	if longer {
		e.TTL = r.duration()
		e.Session = r.sessionID()
	}
	if r.bad {
		return Entry{}, false
	}
	if len(r.b) > 0 {
		e.Value = r.b
	}
	return e, true
}

func appendRemembered(buf []byte, m *remembered) []byte {
	longer := m.result.Body != "" || m.result.Dropped
	if longer {
		buf = append(buf, recordLonger)
	} else {
		buf = append(buf, recordVersion)
	}
	buf = binary.AppendUvarint(buf, uint64(m.result.Code))
	buf = binary.AppendUvarint(buf, m.result.Revision)
	buf = binary.AppendUvarint(buf, m.result.Count)
	if longer {
		dropped := byte(0)
		if m.result.Dropped {
			dropped = 1
		}
		buf = appendPiece(append(buf, dropped), m.result.Body)
	}
	buf = append(buf, m.sum[:]...)
	return append(buf, m.key...)
}

// decodeRemembered reads the record of a sequence number. It copies.
func decodeRemembered(seq uint64, b []byte) (remembered, error) {
	r := reader{b: b}
	longer := r.longer()
	code := r.uvarint()
	m := remembered{result: Result{Code: Code(code), Revision: r.uvarint(), Count: r.uvarint()}}
	if longer {
		dropped := r.uvarint()
		m.result.Dropped = dropped == 1
		m.result.Body = string(r.piece())
		r.bad = r.bad || dropped > 1 || len(m.result.Body) > MaxRememberedBody
	}
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

// reader takes records apart; bad stays set after the first thing that is not there.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) version() {
	if r.longer() {
		r.bad = true
	}
}

// longer reads the version of a record that has two.
func (r *reader) longer() bool {
	if len(r.b) == 0 || r.b[0] != recordVersion && r.b[0] != recordLonger {
		r.bad = true
		return false
	}
	longer := r.b[0] == recordLonger
	r.b = r.b[1:]
	return longer
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

// duration reads a time of at most MaxTTL.
func (r *reader) duration() time.Duration {
	n := r.uvarint()
	if n > uint64(MaxTTL) {
		r.bad = true
		return 0
	}
	return time.Duration(n)
}

// sessionID reads the ID of a session, or nothing.
func (r *reader) sessionID() string {
	p := r.piece()
	if len(p) != 0 && len(p) != sessionIDBytes {
		r.bad = true
	}
	return string(p)
}

// appendPiece writes what reader.piece reads.
func appendPiece(buf []byte, p string) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(p)))
	return append(buf, p...)
}
