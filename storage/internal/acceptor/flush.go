package acceptor

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

// The flusher moves pending records from the journal to log.db: one transaction for many commits. It writes only the
// last write of each slot, in slot order, and no entry that was truncated meanwhile. Commits go on beside it.

// flushBytes returns how much is pending before it is moved. This bound and Limit are a quarter of the ring each, at
// most. So a commit waits only for a flush that has been asked for: half of the ring is free otherwise, whatever its
// end wastes.
func (s *Log) flushBytes() int64 { return min(s.options.FlushBytes, s.ring.Bytes()/4) }

// RunFlusher runs until closing is closed, or until the store has failed.
func (s *Log) RunFlusher(closing <-chan struct{}) {
	idle := time.NewTimer(s.options.FlushIdle)
	defer idle.Stop()
	var seen uint64
	for {
		select {
		case <-closing:
			return
		case <-s.full:
			if s.pending.size() < s.flushBytes() {
				continue // the flush before took it
			}
		case <-s.dirty:
			seen, _ = s.pending.last()
			idle.Reset(s.options.FlushIdle)
			continue
		case <-idle.C:
			number, any := s.pending.last()
			if number != seen && any {
				seen = number
				idle.Reset(s.options.FlushIdle)
				continue
			}
		}
		if s.Flush() != nil {
			return // the next call of anything says why
		}
		if s.trimming.Load() {
			idle.Reset(trimPause)
		}
		if number, any := s.pending.last(); any { // it came meanwhile
			seen = number
			idle.Reset(s.options.FlushIdle)
		}
	}
}

// Flush moves what is pending to log.db, durably. It is safe for concurrent use.
func (s *Log) Flush() error { return s.commitHome(nil) }

// commitHome commits all that is pending, and r after it unless it is nil, in one transaction of log.db. It waits for a
// flush that runs. The caller holds commitMu if there is an r.
func (s *Log) commitHome(r *journal.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.moveHome(r)
}

// Truncate drops the entries through slot, durably, with all that is pending in one transaction of log.db.
func (s *Log) Truncate(slot multipaxos.Slot) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	r := journal.Record{Marks: s.pending.durable()}
	if slot <= r.Marks.Truncated {
		return nil
	}
	advance(&r.Marks, &multipaxos.Persist{Truncate: slot})
	return s.commitHome(&r)
}

// moveHome moves what is pending, and r after it unless it is nil, to log.db. The caller holds mu, and commitMu if
// there is an r.
func (s *Log) moveHome(r *journal.Record) error {
	b := s.pending.collect(s.batch)
	was := s.logged.Load()
	if r == nil && b.number == was.Journaled && !s.trimming.Load() {
		return nil
	}
	if r != nil {
		b.marks, b.entries = r.Marks, append(b.entries, r.Entries...)
	}
	next, first := *was, s.first
	next.setDurable(b.marks)
	next.Journaled = b.number
	s.arena.Reset()
	err := s.write("commit", &next, func(tx *bolt.Tx) error {
		s.logHigh = tx.Size()
		w, err := newEntryWriter(tx, was, s.edited, first, &s.arena)
		if err != nil {
			return err
		}
		if err := w.put(b.entries); err != nil {
			return err
		}
		if err := w.trim(next.Truncated, max(trimEntries, 4*len(b.entries))); err != nil {
			return err
		}
		next.Entries, first, s.edited = w.digest, w.first, w.sums.done()
		return nil
	})
	s.counters.entries.Add(uint64(len(b.entries)))
	s.batch = b.entries
	clear(s.batch)
	if err != nil {
		return err
	}
	s.first = first
	s.trimming.Store(first != 0 && first <= next.Truncated)
	s.pending.drop(&b, func() {
		s.logged.Store(&next)
		if r != nil {
			s.pending.marks = r.Marks
		}
	})
	s.counters.flushes.Add(1)
	wake(s.flushed)
	s.askToGrow()
	disk.ForgetPages(s.db, s.file)
	return nil
}

// trimPause is the time between two transactions that only delete truncated entries, trimEntries each.
const trimPause = 20 * time.Millisecond
