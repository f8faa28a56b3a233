package acceptor

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
	"tenure/storage/journal"
)

// trimEntries is how many truncated entries one transaction deletes at most, or four for each entry that it writes if
// that is more. So a large truncation does not hold up later commits, and still catches up.
const trimEntries = 256

// Commit makes ps durable, as Store.Commit of package storage does. checkpointed returns the slot through which the
// state database is durable.
func (s *Log) Commit(ps []multipaxos.Persist, checkpointed func() multipaxos.Slot) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	if len(ps) == 0 {
		return nil
	}
	r := &s.record
	r.Marks, r.Entries = s.pending.durable(), r.Entries[:0]
	stateDB := checkpointed()
	for i := range ps {
		if ps[i].Truncate > stateDB {
			panic(fmt.Sprintf("storage: persist %d truncates through slot %d, and the state "+
				"database is durable through %d", ps[i].Seq, ps[i].Truncate, stateDB))
		}
		advance(&r.Marks, &ps[i])
		r.Entries = append(r.Entries, ps[i].Entries...)
	}
	defer clear(r.Entries) // they are pending, or home
	if journal.Size(r) > s.ring.Limit() {
		return s.commitHome(r)
	}
	return s.append(r)
}

// append writes r into the journal. It waits while the ring is full of what log.db does not have.
func (s *Log) append(r *journal.Record) error {
	var at journal.Place
	for {
		home := s.logged.Load()
		s.ring.Release(home.Journaled)
		r.Generation = home.Generation
		var err error
		if at, err = s.ring.Append(r); err == nil {
			break
		}
		if !errors.Is(err, journal.ErrFull) {
			return s.failure.Fail(fmt.Errorf("%s: %w", s.files.JournalPath(), err))
		}
		s.counters.waits.Add(1)
		wake(s.full) // after a start nobody has yet
		select {
		case <-s.flushed:
		case <-s.failure.Ended():
			return s.failure.Err()
		}
	}
	s.counters.syncs.Add(1)
	if s.pending.add(r, at) >= s.fullBytes() {
		wake(s.full)
	}
	if !s.unnoted.Swap(true) {
		wake(s.dirty)
	}
	return nil
}

// wake puts a token into a channel of one, unless it is there.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// advance applies p to the marks. Promised and Chosen never go backwards, and a slot that was truncated stays so.
func advance(m *multipaxos.Durable, p *multipaxos.Persist) {
	if !p.Promised.IsZero() && p.Promised.Less(m.Promised) {
		panic(fmt.Sprintf("storage: persist %d would lower the promised ballot from %s to %s", p.Seq, m.Promised,
			p.Promised))
	}
	if p.Chosen != 0 && p.Chosen < m.Chosen {
		panic(fmt.Sprintf("storage: persist %d would lower the chosen mark from %d to %d", p.Seq, m.Chosen, p.Chosen))
	}
	for i := range p.Entries {
		e := &p.Entries[i]
		if e.Slot <= m.Truncated {
			panic(fmt.Sprintf("storage: persist %d writes into slot %d, truncated through %d", p.Seq, e.Slot,
				m.Truncated))
		}
		if len(e.Value) > sealed.MaxBytes {
			panic(fmt.Sprintf("storage: the value of slot %d has %d bytes", e.Slot, len(e.Value)))
		}
		m.Last = max(m.Last, e.Slot)
	}
	m.Promised = m.Promised.Max(p.Promised)
	m.Truncated = max(m.Truncated, p.Truncate)
	m.Chosen = max(m.Chosen, p.Chosen, m.Truncated) // only what is chosen is truncated
	m.Last = max(m.Last, m.Truncated)
}

// entryWriter changes entries in one transaction and keeps their digest.
type entryWriter struct {
	bucket *bolt.Bucket
	digest sealed.Digest
	sums   *sumsEditor
	last   multipaxos.Slot // highest slot that may have an entry
	first  multipaxos.Slot // lowest, 0 if there is none
	arena  *sealed.Arena
	key    [8]byte // bbolt keeps a copy
}

func newEntryWriter(
	tx *bolt.Tx, m *Marks, home *slotSums, first multipaxos.Slot, a *sealed.Arena,
) (*entryWriter, error) {
	b := tx.Bucket([]byte(EntryBucket))
	if b == nil {
		return nil, fmt.Errorf("%w: the bucket of the entries is missing", disk.ErrBadRecord)
	}
	b.FillPercent = 1 // slots rise: no page is ever split in its middle
	return &entryWriter{bucket: b, digest: m.Entries, sums: home.edit(), last: m.Last, first: first, arena: a}, nil
}

func (w *entryWriter) put(entries []multipaxos.Entry) error {
	for i := range entries {
		e := &entries[i]
		key := binary.BigEndian.AppendUint64(w.key[:0], uint64(e.Slot))
		if e.Slot <= w.last {
			if err := w.replace(e.Slot, key); err != nil {
				return fmt.Errorf("%w: %w", disk.ErrBadRecord, err)
			}
		}
		record := sealEntry(w.arena.Alloc(len(e.Value)+ballotBytes+sealed.SumBytes), key, e)
		if err := w.bucket.Put(key, record); err != nil {
			return err
		}
		w.digest.Add(record)
		w.sums.set(e.Slot, record)
		w.last = max(w.last, e.Slot)
		if w.first == 0 || e.Slot < w.first {
			w.first = e.Slot
		}
	}
	return nil
}

// replace takes what a slot has out of the digest.
func (w *entryWriter) replace(slot multipaxos.Slot, key []byte) error {
	old := w.bucket.Get(key)
	if old != nil {
		if _, err := OpenEntry(key, old); err != nil {
			return err
		}
		w.digest.Remove(old)
	}
	return w.sums.check(slot, old)
}

// trim deletes at most limit entries up to and including slot `through`; the rest is for later commits, and is not
// returned meanwhile.
func (w *entryWriter) trim(through multipaxos.Slot, limit int) error {
	if w.first == 0 || w.first > through {
		return nil
	}
	var gone []multipaxos.Slot
	w.first = 0
	c := w.bucket.Cursor()
	for key, record := c.First(); key != nil; key, record = c.Next() {
		slot, err := decodeSlot(key)
		if err != nil || len(record) < sealed.SumBytes {
			return fmt.Errorf("%w: it is no entry", disk.ErrBadRecord)
		}
		if err := w.sums.check(slot, record); err != nil {
			return fmt.Errorf("%w: %w", disk.ErrBadRecord, err)
		}
		if slot > through || len(gone) == limit {
			w.first = slot
			break
		}
		w.digest.Remove(record)
		gone = append(gone, slot)
	}
	for _, slot := range gone { // after the walk: a cursor does not survive deletions
		if err := w.bucket.Delete(slotKey(slot)); err != nil {
			return err
		}
		w.sums.set(slot, nil)
	}
	return nil
}
