package kv

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tenure/internal/codec"
)

// A record that no state has ever written is damage, whatever of it is wrong, and is not read as another one.
func TestRecordsThatContradictThemselvesAreDamage(t *testing.T) {
	sound := remembered{key: "w", result: done(1)}
	if m, err := decodeRemembered(5, appendRemembered(nil, &sound)); err != nil || m != sound {
		t.Fatalf("%+v, %v", m, err)
	}
	for name, change := range map[string]func(*remembered){
		"no key":          func(m *remembered) { m.key = "" },
		"key too long":    func(m *remembered) { m.key = strings.Repeat("k", MaxIdemKeyBytes+1) },
		"no code":         func(m *remembered) { m.result.Code = 0 },
		"code of no kind": func(m *remembered) { m.result.Code = maxCode + 1 },
	} {
		m := sound
		change(&m)
		if got, err := decodeRemembered(5, appendRemembered(nil, &m)); !errors.Is(err, ErrDamaged) {
			t.Errorf("idempotency record, %s: %+v, %v", name, got, err)
		}
	}
	whole := meta{Format: metaFormat, Slot: 7, Revision: 3, Floor: 4, First: 2, Next: 2, SessionsIndex: 3,
		TombstoneFloor: 3}
	if m, err := decodeMeta(7, codec.Marshal(&whole)); err != nil || m != whole {
		t.Fatalf("%+v, %v", m, err)
	}
	for name, change := range map[string]func(*meta){
		"another format":                func(m *meta) { m.Format++ },
		"another slot":                  func(m *meta) { m.Slot++ },
		"first above next":              func(m *meta) { m.First = 3 },
		"floor above the revision":      func(m *meta) { m.Floor = 5 },
		"sessions above the revision":   func(m *meta) { m.SessionsIndex = 4 },
		"tombstones above the revision": func(m *meta) { m.TombstoneFloor = 4 },
	} {
		m := whole
		change(&m)
		if got, err := decodeMeta(7, codec.Marshal(&m)); !errors.Is(err, ErrDamaged) {
			t.Errorf("meta record, %s: %+v, %v", name, got, err)
		}
	}
}

// TestWhatNoStateReaches: a record from outside that says more than a state can have reached is refused, without a word
// of damage to this node's files. One's own state with an era that no token can have is damaged.
func TestWhatNoStateReaches(t *testing.T) {
	const n = MaxReached
	most := meta{Format: metaFormat, Slot: n, Revision: n, First: n, Next: n, Eras: maxEra}
	if r, err := ReadMeta(most.Slot, codec.Marshal(&most)); err != nil || r.Revision != MaxReached || r.Eras != maxEra {
		t.Errorf("%+v %v", r, err)
	}
	for name, change := range map[string]func(*meta){
		"slot":             func(m *meta) { m.Slot++ },
		"revision":         func(m *meta) { m.Revision++ },
		"last revision":    func(m *meta) { m.Revision = math.MaxUint64 },
		"idempotency keys": func(m *meta) { m.Next++ },
		"era":              func(m *meta) { m.Eras++ },
		"last era":         func(m *meta) { m.Eras = math.MaxUint64 },
	} {
		m := most
		change(&m)
		_, err := ReadMeta(m.Slot, codec.Marshal(&m))
		if err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "not made by a node of Tenure") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := newMachine(t, small)
	m.exec.reg.fences.eras = maxEra + 1
	m.do(set("a", "1"))
	m.takeCheckpoint()
	if _, err := Open(m.stateDB, small); !errors.Is(err, ErrDamaged) {
		t.Errorf("a state of era %d: %v", m.Eras(), err)
	}
}

// A prune that meets a damaged entry deletes nothing, wherever the entry is.
func TestAPruneThatMeetsDamageFails(t *testing.T) {
	for _, key := range []string{"a/1", "a/2", "a/3"} {
		m := newMachine(t, small)
		m.do(set("a/1", "1"), set("a/2", "1"), set("a/3", "1"))
		m.do(Command{Op: OpSet, Key: "t", TTL: time.Hour}) // entries may have to be taken out of lists of those
		m.takeCheckpoint()
		m.stateDB.records.Set(recordKey(KindData, []byte(key)), []byte{recordVersion})
		if r, err := m.Apply(m.Applied()+1, batchOf(prune("a/"))); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s is damaged: %+v, %v", key, r, err)
		}
	}
}

// The bytes of a session count once, however often its record is written anew.
func TestTableBytesOfRecordsWrittenAnew(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	s := Session{ID: "8a3f2c60-9d5e-4b1a-8f27-0c6d1e5b7a94", Name: strings.Repeat("n", 100)}
	m.do(Command{Op: OpSessionCreate, Session: s})
	one := m.TableBytes()
	if one < 100 {
		t.Fatalf("%d bytes for a session with a name of 100", one)
	}
	for range 20 {
		m.do(Command{Op: OpSessionRenew, Session: Session{ID: s.ID}})
	}
	if now := m.TableBytes(); now < one || now > one+20 {
		t.Errorf("%d bytes after 20 renewals, %d before", now, one)
	}
}
