package storage

import (
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"tenure/multipaxos"
)

var _ multipaxos.Reader = (*Store)(nil)

// trimEntries bounds how many truncated entries one commit deletes, so that a large truncation does not hold up the
// votes behind it: at least this many, and at least four for each entry that it writes, so that it catches up.
const trimEntries = 256

// Durable is what the log holds now; after Open, what this run starts from.
func (s *Store) Durable() multipaxos.Durable {
	m := s.marks.Load()
	return multipaxos.Durable{Promised: m.Promised, Truncated: m.Truncated, Chosen: m.Chosen, Last: m.Last}
}

// Commit makes ps durable, in their order and all together: one transaction, two syncs. After an error it is not
// known whether they are, nothing that waits for them may be sent, and every later call returns the same error; the
// caller ends the process. It keeps no part of ps. It panics if ps would lower the promised ballot or the chosen
// mark, write into a truncated slot, or truncate what is not durably folded.
func (s *Store) Commit(ps []multipaxos.Persist) error {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if err := s.failed(); err != nil {
		return err
	}
	if len(ps) == 0 {
		return nil
	}
	next := *s.marks.Load()
	appended := 0
	for i := range ps {
		if folded := s.Folded(); ps[i].Truncate > folded {
			panic(fmt.Sprintf("storage: persist %d truncates through slot %d, and the image is durable through %d", ps[i].Seq, ps[i].Truncate, folded))
		}
		next.advance(&ps[i])
		appended += len(ps[i].Entries)
	}
	first := s.first
	s.arena.reset()
	err := s.writeLog("commit", func(tx *bolt.Tx) error {
		s.logHigh = tx.Size()
		w, err := newLogWriter(tx, s.marks.Load(), first, &s.arena)
		if err != nil {
			return err
		}
		for i := range ps {
			if err := w.put(ps[i].Entries); err != nil {
				return err
			}
		}
		if err := w.trim(next.Truncated, max(trimEntries, 4*appended)); err != nil {
			return err
		}
		next.Entries, first = w.digest, w.first
		return put(tx.Bucket([]byte(acceptorBucket)), acceptorSeed, marksKey, &next)
	})
	if err != nil {
		return err
	}
	s.first = first
	s.marks.Store(&next)
	s.askToGrow()
	return nil
}

// advance applies p to the marks. Promised and Chosen never go backwards, and a slot that was truncated stays so.
func (m *logMarks) advance(p *multipaxos.Persist) {
	if !p.Promised.IsZero() && p.Promised.Less(m.Promised) {
		panic(fmt.Sprintf("storage: persist %d would lower the promised ballot from %s to %s", p.Seq, m.Promised, p.Promised))
	}
	if p.Chosen != 0 && p.Chosen < m.Chosen {
		panic(fmt.Sprintf("storage: persist %d would lower the chosen mark from %d to %d", p.Seq, m.Chosen, p.Chosen))
	}
	for i := range p.Entries {
		slot := p.Entries[i].Slot
		if slot <= m.Truncated {
			panic(fmt.Sprintf("storage: persist %d writes into slot %d, truncated through %d", p.Seq, slot, m.Truncated))
		}
		m.Last = max(m.Last, slot)
	}
	m.Promised = m.Promised.Max(p.Promised)
	m.Truncated = max(m.Truncated, p.Truncate)
	m.Chosen = max(m.Chosen, p.Chosen, m.Truncated) // only what is chosen is truncated
	m.Last = max(m.Last, m.Truncated)
}

// logWriter changes entries in one transaction and keeps their digest.
type logWriter struct {
	bucket *bolt.Bucket
	digest digest
	last   multipaxos.Slot // highest slot that may have an entry
	first  multipaxos.Slot // lowest, 0 if there is none
	arena  *arena
}

func newLogWriter(tx *bolt.Tx, m *logMarks, first multipaxos.Slot, a *arena) (*logWriter, error) {
	b := tx.Bucket([]byte(entryBucket))
	if b == nil {
		return nil, fmt.Errorf("%w: the bucket of the entries is missing", errBadRecord)
	}
	b.FillPercent = 1 // slots rise: no page is ever split in its middle
	return &logWriter{bucket: b, digest: m.Entries, last: m.Last, first: first, arena: a}, nil
}

func (w *logWriter) put(entries []multipaxos.Entry) error {
	for i := range entries {
		e := &entries[i]
		if len(e.Value) > recordLimit {
			panic(fmt.Sprintf("storage: the value of slot %d has %d bytes", e.Slot, len(e.Value)))
		}
		key := slotKey(e.Slot)
		if e.Slot <= w.last {
			if old := w.bucket.Get(key); old != nil {
				if _, err := openEntry(key, old); err != nil {
					return fmt.Errorf("%w: %w", errBadRecord, err)
				}
				w.digest.remove(old)
			}
		}
		record := sealEntry(w.arena.take(len(e.Value)+ballotBytes+crcBytes), key, e)
		if err := w.bucket.Put(key, record); err != nil {
			return err
		}
		w.digest.add(record)
		w.last = max(w.last, e.Slot)
		if w.first == 0 || e.Slot < w.first {
			w.first = e.Slot
		}
	}
	return nil
}

// trim deletes at most limit entries up to and including slot `through`; the rest is for later commits, and is not
// returned meanwhile.
func (w *logWriter) trim(through multipaxos.Slot, limit int) error {
	if w.first == 0 || w.first > through {
		return nil
	}
	var gone []multipaxos.Slot
	w.first = 0
	c := w.bucket.Cursor()
	for key, record := c.First(); key != nil; key, record = c.Next() {
		slot, err := decodeSlot(key)
		if err != nil || len(record) < crcBytes {
			return fmt.Errorf("%w: it is no entry", errBadRecord)
		}
		if slot > through || len(gone) == limit {
			w.first = slot
			break
		}
		w.digest.remove(record)
		gone = append(gone, slot)
	}
	for _, slot := range gone { // after the walk: a cursor does not survive deletions
		if err := w.bucket.Delete(slotKey(slot)); err != nil {
			return err
		}
	}
	return nil
}

// Entries implements multipaxos.Reader: the durable entries in [from, through] that exist and are not truncated, in
// slot order, until their values hold maxBytes together. The values are copies.
func (s *Store) Entries(from, through multipaxos.Slot, maxBytes int) ([]multipaxos.Entry, error) {
	if err := s.failed(); err != nil {
		return nil, err
	}
	from = max(from, s.marks.Load().Truncated+1)
	var entries []multipaxos.Entry
	err := guard(s.logPath(), func() error {
		return s.log.View(func(tx *bolt.Tx) error {
			c := tx.Bucket([]byte(entryBucket)).Cursor()
			size := 0
			for key, record := c.Seek(slotKey(from)); key != nil; key, record = c.Next() {
				if len(key) == 8 && binary.BigEndian.Uint64(key) > uint64(through) {
					return nil
				}
				e, err := openEntry(key, record)
				if err != nil {
					return damage(s.logPath(), "%w", err)
				}
				e.Value = slices.Clone(e.Value)
				entries = append(entries, e)
				if size += len(e.Value); size >= maxBytes {
					return nil
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err)
	}
	return entries, nil
}
