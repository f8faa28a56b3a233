package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"

	"tenure/internal/codec"
)

// The records of the registers in the state database. Each starts with the version of its layout:
//
//	KindSession    ID                  1, msgpack of type Session but for its ID
//	KindHeld       session ID, 0, key  1
//	KindExpiry     key                 1, revision at which it was set, TTL in ns (uvarints)
//	KindDelay      key                 1, revision at which it was set, lock-delay in ns (uvarints)
//	KindFence      name                1, largest token (uvarint)
//	KindTombstone  key                 1, revision (uvarint)
//	KindMembers    "record"            1, what SetMembers was given
//	KindQuota      prefix              1, limits and use in bytes and keys, counting, steps (uvarints), next key
//	KindStaged     number, 8 bytes BE  1, ID of the upload (piece), what OpStage brought
//	KindPolicy     ID                  1, create, modify (uvarints), msgpack of type policyValue
//	KindToken      accessor            1, create, modify (uvarints), msgpack of type tokenValue

func appendSession(buf []byte, e *Session) []byte {
	bare := *e
	bare.ID = ""
	return codec.Append(append(buf, recordVersion), &bare)
}

func decodeSession(id string, b []byte) (*Session, error) {
	r := reader{b: b}
	r.version()
	var e Session
	if r.bad || codec.Unmarshal(r.b, &e) != nil || e.ID != "" || e.CreateIndex == 0 {
		return nil, damaged("session %q: %w", id, errRecord)
	}
	given := Session{ID: id, Name: e.Name, Node: e.Node, LockDelay: e.LockDelay, Behavior: e.Behavior, TTL: e.TTL}
	if err := given.validate(); err != nil {
		return nil, damaged("session %q: %w", id, err)
	}
	e.ID = id
	return &e, nil
}

func appendRunning(buf []byte, t running) []byte {
	buf = binary.AppendUvarint(append(buf, recordVersion), t.arm)
	return binary.AppendUvarint(buf, uint64(t.after))
}

func decodeRunning(key string, b []byte) (running, error) {
	r := reader{b: b}
	r.version()
	t := running{arm: r.uvarint(), after: r.duration()}
	if r.bad || len(r.b) > 0 || t.arm == 0 || t.after == 0 {
		return running{}, damaged("time of key %q: %w", key, errRecord)
	}
	return t, nil
}

func appendFence(buf []byte, token uint64) []byte {
	return binary.AppendUvarint(append(buf, recordVersion), token)
}

func appendTombstone(buf []byte, revision uint64) []byte {
	return binary.AppendUvarint(append(buf, recordVersion), revision)
}

// decodeNumber reads a fence or a tombstone.
func decodeNumber(name string, b []byte) (uint64, error) {
	r := reader{b: b}
	r.version()
	n := r.uvarint()
	if r.bad || len(r.b) > 0 {
		return 0, damaged("number of %q: %w", name, errRecord)
	}
	return n, nil
}

// mark writes into m its format, what no record holds, and how many records of each kind there are.
func (r *registers) mark(m *meta) {
	m.Eras = r.fences.eras
	m.SessionsIndex = r.sessions.index
	m.LeaseFloor, m.KVFloor = r.fences.floors[0], r.fences.floors[1]
	m.TombstoneFloor = r.tombstones.floor
	m.Sessions, m.Held = uint64(r.sessions.byID.Len()), uint64(r.sessions.held.Len())
	m.Expiring, m.Delays = uint64(r.times.expiry.Len()), uint64(r.times.delays.Len())
	m.Fences, m.Tombstones = uint64(r.fences.largest.Len()), uint64(r.tombstones.byKey.Len())
	m.Members, m.Staged = r.members.count(), uint64(len(r.staged.pieces))
	m.Quotas = uint64(r.quotas.byPrefix.Len())
	m.ACLRevision, m.ACLNarrowed, m.ACLBootstrap = r.acl.revision, r.acl.narrowed, r.acl.bootstrap
	m.Policies, m.Tokens = uint64(r.acl.policies.Len()), uint64(r.acl.tokens.Len())
	m.Format, m.Level, m.Release = metaFormat, r.level, r.release
}

// loadRegisters reads the registers of a state database whose marks are m.
func loadRegisters(view StateDB, m *meta) (registers, error) {
	r := newRegisters()
	r.fences.eras, r.level, r.release = m.Eras, m.Level, m.Release
	r.sessions.index, r.tombstones.floor = m.SessionsIndex, m.TombstoneFloor
	r.fences.floors = [2]uint64{m.LeaseFloor, m.KVFloor}
	r.acl.revision, r.acl.narrowed = max(m.ACLRevision, FirstRevision), max(m.ACLNarrowed, FirstRevision)
	r.acl.bootstrap = m.ACLBootstrap
	for _, l := range []struct {
		kind  RecordKind
		count uint64
		take  func(key string, record []byte) error
	}{
		{KindSession, m.Sessions, r.sessions.load},
		{KindHeld, m.Held, r.sessions.loadHeld},
		{KindExpiry, m.Expiring, func(key string, b []byte) error {
			t, err := decodeRunning(key, b)
			r.times.expiry.Set(key, t)
			return err
		}},
		{KindDelay, m.Delays, func(key string, b []byte) error {
			t, err := decodeRunning(key, b)
			r.times.delays.Set(key, t)
			return err
		}},
		{KindFence, m.Fences, func(name string, b []byte) error {
			token, err := decodeNumber(name, b)
			r.fences.largest.Set(name, token)
			return err
		}},
		{KindTombstone, m.Tombstones, func(key string, b []byte) error { return r.tombstones.load(key, b, m) }},
		{KindMembers, m.Members, r.members.load},
		{KindQuota, m.Quotas, r.quotas.load},
		{KindStaged, m.Staged, r.staged.load},
		{KindPolicy, m.Policies, r.acl.loadPolicy},
		{KindToken, m.Tokens, r.acl.loadToken},
	} {
		var broken error
		var n uint64
		err := view.Ascend(l.kind, nil, func(key, record []byte) bool {
			n++
			broken = l.take(string(key), record)
			return broken == nil
		})
		switch {
		case err != nil:
			return r, err
		case broken != nil:
			return r, broken
		case n > 0 && l.kind.Level() > m.Level:
			return r, damaged("%d records of kind %d are there at feature level %d", n, l.kind, m.Level)
		case n != l.count:
			return r, damaged("%d records of kind %d are there, there should be %d", n, l.kind, l.count)
		}
	}
	return r, nil
}

func (s *sessions) load(id string, b []byte) error {
	e, err := decodeSession(id, b)
	s.byID.Set(id, e)
	return err
}

func (s *sessions) loadHeld(key string, b []byte) error {
	id, _, ok := strings.Cut(key, "\x00")
	if !ok || !s.lives(id) || len(b) != 1 || b[0] != recordVersion {
		return damaged("lock %q: %w", key, errRecord)
	}
	s.held.Set(key, struct{}{})
	return nil
}

func (t *tombstones) load(key string, b []byte, m *meta) error {
	revision, err := decodeNumber(key, b)
	if err == nil && (revision <= m.TombstoneFloor || revision > m.Revision) {
		err = damaged("tombstone of key %q: revision %d is not within %d and %d",
			key, revision, m.TombstoneFloor, m.Revision)
	}
	t.byKey.Set(key, revision)
	t.byAge.Set(tombstone{revision, key})
	return err
}

// digest writes all of r to h.
func (r *registers) digest(h hash.Hash) {
	var m meta
	r.mark(&m)
	sum := sha256.Sum256(m.encode())
	h.Write(sum[:])
	write := func(kind RecordKind, key string, record []byte) {
		h.Write(binary.BigEndian.AppendUint64([]byte{byte(kind)}, uint64(len(key))))
		h.Write([]byte(key))
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(record))))
		h.Write(record)
	}
	r.sessions.byID.Scan(func(id string, e *Session) bool {
		write(KindSession, id, appendSession(nil, e))
		return true
	})
	r.sessions.held.Scan(func(key string, _ struct{}) bool { write(KindHeld, key, nil); return true })
	r.times.expiry.Scan(func(key string, t running) bool {
		write(KindExpiry, key, appendRunning(nil, t))
		return true
	})
	r.times.delays.Scan(func(key string, t running) bool { write(KindDelay, key, appendRunning(nil, t)); return true })
	r.fences.largest.Scan(func(name string, token uint64) bool {
		write(KindFence, name, appendFence(nil, token))
		return true
	})
	r.tombstones.byKey.Scan(func(key string, n uint64) bool {
		write(KindTombstone, key, appendTombstone(nil, n))
		return true
	})
	for n, piece := range r.staged.pieces {
		write(KindStaged, string(sequenceKey(uint64(n))), appendStagedPiece(nil, r.staged.id, piece))
	}
	if r.members.record != nil {
		write(KindMembers, membersKey, appendMembers(nil, r.members.record))
	}
	r.quotas.byPrefix.Scan(func(prefix string, q *quota) bool {
		write(KindQuota, prefix, appendQuota(nil, q))
		return true
	})
	r.acl.policies.Scan(func(id string, p *Policy) bool { write(KindPolicy, id, appendPolicy(nil, p)); return true })
	r.acl.tokens.Scan(func(accessor string, t *Token) bool {
		write(KindToken, accessor, appendToken(nil, t))
		return true
	})
}
