package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tidwall/btree"
)

// MemStateDB is a Source in memory, for simulators and tests. Views may be opened and used at a time; Merge and Clone
// must not run beside anything.
type MemStateDB struct {
	slot    uint64
	meta    []byte
	records *btree.Map[string, []byte] // kind byte and key → record; never changed, replaced by Merge
}

// NewMemStateDB returns the state database of a new state.
func NewMemStateDB() *MemStateDB { return &MemStateDB{records: btree.NewMap[string, []byte](0)} }

// Merge makes f part of the state database, as one transaction; open views stay as they are. It panics on
// changes that are not in order or come twice, and on a checkpoint that is not newer than the state database.
func (m *MemStateDB) Merge(f *Checkpoint) {
	if f.Slot <= m.slot {
		panic(fmt.Sprintf("kv: checkpoint of slot %d into a state database of slot %d", f.Slot, m.slot))
	}
	m.change(f, math.MaxInt)
	m.slot, m.meta = f.Slot, f.Meta
}

// MergeSome makes the first n changes of f part of the state database, and no checkpoint of it: as storage does when it
// merges f in parts. Nothing but f may be merged next.
func (m *MemStateDB) MergeSome(f *Checkpoint, n int) { m.change(f, n) }

func (m *MemStateDB) change(f *Checkpoint, n int) {
	if f.Changes == nil {
		return
	}
	records, before := m.records.Copy(), ""
	for c := range f.Changes {
		if n--; n < 0 {
			break
		}
		key := recordKey(c.Kind, c.Key)
		if key <= before {
			panic(fmt.Sprintf("kv: checkpoint of slot %d: %q comes after %q", f.Slot, key, before))
		}
		before = key
		if c.Value == nil {
			records.Delete(key)
		} else {
			records.Set(key, slices.Clone(c.Value))
		}
	}
	m.records = records
}

// Clone returns a state database that holds the same and goes its own way from here.
func (m *MemStateDB) Clone() *MemStateDB {
	c := *m
	return &c
}

// View opens a view; its error is always nil.
func (m *MemStateDB) View() (StateDB, error) { return &memView{records: m.records}, nil }

// Loaded returns the slot and meta record of the newest merged checkpoint; its error is always nil.
func (m *MemStateDB) Loaded() (slot uint64, meta []byte, err error) { return m.slot, m.meta, nil }

// Digest returns a digest of slot, meta record and all records, 0 for a new state: what storage keeps up, read whole.
func (m *MemStateDB) Digest() uint64 {
	if m.slot == 0 {
		return 0
	}
	h := sha256.New()
	buf := binary.BigEndian.AppendUint64(nil, m.slot)
	add := func(b string) { buf = append(binary.BigEndian.AppendUint64(buf, uint64(len(b))), b...) }
	add(string(m.meta))
	m.records.Scan(func(key string, record []byte) bool {
		add(key)
		add(string(record))
		h.Write(buf)
		buf = buf[:0]
		return true
	})
	h.Write(buf)
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Tamper replaces the record of key by other, or drops it if other is nil, as nothing that is applied would: for tests.
func (m *MemStateDB) Tamper(kind RecordKind, key, other []byte) {
	m.records = m.records.Copy()
	if other == nil {
		m.records.Delete(recordKey(kind, key))
		return
	}
	m.records.Set(recordKey(kind, key), other)
}

func recordKey(kind RecordKind, key []byte) string {
	b := make([]byte, 0, 1+len(key))
	return string(append(append(b, byte(kind)), key...))
}

// memView is a view of a MemStateDB. Reading it after Close panics, as a test wishes.
type memView struct{ records *btree.Map[string, []byte] }

func (v *memView) Get(kind RecordKind, key []byte) ([]byte, error) {
	value, _ := v.records.Get(recordKey(kind, key))
	return value, nil
}

func (v *memView) Ascend(kind RecordKind, from []byte, fn func(key, value []byte) bool) error {
	v.records.Ascend(recordKey(kind, from), func(k string, value []byte) bool {
		return k[0] == byte(kind) && fn([]byte(k[1:]), value)
	})
	return nil
}

func (v *memView) Descend(kind RecordKind, below []byte, fn func(key, value []byte) bool) error {
	pivot := recordKey(kind, below)
	if below == nil {
		pivot = recordKey(kind+1, nil)
	}
	v.records.Descend(pivot, func(k string, value []byte) bool {
		if k >= pivot {
			return true
		}
		return k[0] == byte(kind) && fn([]byte(k[1:]), value)
	})
	return nil
}

// Overtaken returns false: the records are shared.
func (v *memView) Overtaken() bool { return false }

func (v *memView) Close() { v.records = nil }
