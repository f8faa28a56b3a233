package acceptor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
)

// Entries implements multipaxos.Reader: the durable entries in [from, through] that exist and are not truncated, in
// slot order, until their values hold maxBytes together. The values are copies. It is safe for concurrent use.
func (s *Log) Entries(from, through multipaxos.Slot, maxBytes int) (entries []multipaxos.Entry, err error) {
	for again := true; again; {
		if err := s.failure.Err(); err != nil {
			return nil, err
		}
		m := merger{from: from, through: through, maxBytes: maxBytes, journal: reader{ring: s.ring}}
		err = disk.Guard(s.files.LogPath(), func() error { return s.read(&m) })
		// A record that moves to log.db while it is read gives its place to another.
		again = m.lost != 0 && !s.pending.has(m.lost)
		entries = m.out
	}
	if err != nil {
		return nil, s.failure.Fail(err)
	}
	return entries, nil
}

func (s *Log) read(m *merger) error {
	tx, err := s.pending.view(s.db, m)
	if errors.Is(err, disk.ErrChanged) {
		return disk.Damaged(s.files.LogPath(), "%w", err)
	}
	if err != nil {
		return fmt.Errorf("%s: open a view: %w", s.files.LogPath(), err)
	}
	defer tx.Rollback()
	switch err := m.merge(tx); {
	case err == nil:
		return nil
	case m.lost != 0:
		return s.unreadable(err)
	default:
		return disk.Damaged(s.files.LogPath(), "%w", err)
	}
}

// merger merges the pending entries with those of log.db; a pending one replaces that of its slot.
type merger struct {
	from, through multipaxos.Slot
	maxBytes      int
	recent        []located // pending ones that were not taken yet, by rising slot
	journal       reader
	lost          uint64    // number of the record that could not be read; 0: none
	home          *slotSums // of what log.db must have
	size          int
	out           []multipaxos.Entry
}

func (m *merger) merge(tx *bolt.Tx) error {
	b := tx.Bucket([]byte(EntryBucket))
	if b == nil {
		return errors.New("the bucket of the entries is missing")
	}
	c, expected := b.Cursor(), m.from
	for key, record := c.Seek(slotKey(m.from)); key != nil; key, record = c.Next() {
		if len(key) == 8 && binary.BigEndian.Uint64(key) > uint64(m.through) {
			break
		}
		e, err := OpenEntry(key, record)
		if err != nil {
			return err
		}
		if err := m.nothingBetween(expected, e.Slot); err != nil {
			return err
		}
		if err := m.home.check(e.Slot, record); err != nil {
			return err
		}
		expected = e.Slot + 1
		if more, err := m.takeRecent(e.Slot); err != nil || !more {
			return err
		}
		if len(m.recent) > 0 && m.recent[0].slot == e.Slot {
			continue // there is a newer one
		}
		if !m.add(e) {
			return nil
		}
	}
	if err := m.nothingBetween(expected, m.through+1); err != nil {
		return err
	}
	_, err := m.takeRecent(^multipaxos.Slot(0))
	return err
}

// nothingBetween returns an error unless log.db should have no entry from slot from to below another, as far as was
// asked. Slots that do not increase come from a misplaced page.
func (m *merger) nothingBetween(from, below multipaxos.Slot) error {
	if below < from && below != m.through+1 {
		return fmt.Errorf("the entry of slot %d comes behind that of slot %d", below, from-1)
	}
	if slot, ok := m.home.next(from, min(below-1, m.through)); ok {
		return m.home.check(slot, nil)
	}
	return nil
}

// takeRecent takes the pending entries below a slot. It returns false if there are enough.
func (m *merger) takeRecent(below multipaxos.Slot) (more bool, err error) {
	for len(m.recent) > 0 && m.recent[0].slot < below {
		e, err := m.journal.entry(&m.recent[0])
		if err != nil {
			m.lost = m.recent[0].number
			return false, err
		}
		m.recent = m.recent[1:]
		if !m.add(e) {
			return false, nil
		}
	}
	return true, nil
}

// add adds a copy of e: the page of log.db that it is in is used again, and the record of the journal may be far
// larger.
func (m *merger) add(e multipaxos.Entry) bool {
	e.Value = slices.Clone(e.Value)
	m.out = append(m.out, e)
	m.size += len(e.Value)
	return m.size < m.maxBytes
}
