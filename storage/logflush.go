package storage

import (
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

// The flusher moves pending records from the journal to log.db: one transaction for many commits. It writes only the
// last write of each slot, in slot order, and no entry that was truncated meanwhile. Commits go on beside it.

// stats counts what the journal does, and checkpoints that were interrupted.
type stats struct {
	syncs, waits, flushes, entries, replayed, cutOff, resumed, scrubbed, recounts, installed, given atomic.Uint64
}

// Stats are counts since Open, and what is pending now.
type Stats struct {
	JournalSyncs   uint64 // commits that went through the journal
	JournalWaits   uint64 // times that one of them waited for space in it
	Flushes        uint64 // transactions that moved records to log.db, or a commit too large for the journal
	FlushedEntries uint64 // entries written by them
	Replayed       uint64 // records that Open found in the journal and not in log.db
	CutOff         bool   // Open found a record behind them that was never whole, and dropped it
	PendingBytes   int64  // of the journal that log.db does not have
	Resumed        uint64 // checkpoints that a crash had cut off between two parts, and of which Open made the rest
	ScrubbedPages  uint64 // pages of state.db that Scrub has passed
	Recounts       uint64 // times that Recount has found the digest to be that of the records
	GivenBack      uint64 // bytes of state.db that GiveBack has given back to the file system
	Installed      uint64 // slot of the snapshot that Open put in the place of the state database; 0: none
}

// Stats returns the counts. It is cheap and safe for concurrent use.
func (s *Store) Stats() Stats {
	return Stats{
		JournalSyncs: s.stats.syncs.Load(), JournalWaits: s.stats.waits.Load(), Flushes: s.stats.flushes.Load(),
		FlushedEntries: s.stats.entries.Load(), Replayed: s.stats.replayed.Load(), CutOff: s.stats.cutOff.Load() > 0,
		PendingBytes: s.log.pending.size(), Resumed: s.stats.resumed.Load(), ScrubbedPages: s.stats.scrubbed.Load(),
		Recounts: s.stats.recounts.Load(), Installed: s.stats.installed.Load(), GivenBack: s.stats.given.Load(),
	}
}

// flushBytes returns how much is pending before it is moved. This bound and Limit are a quarter of the ring each, at
// most. So a commit waits only for a flush that has been asked for: half of the ring is free otherwise, whatever its
// end wastes.
func (s *acceptorLog) flushBytes() int64 { return min(s.options.FlushBytes, s.ring.Bytes()/4) }

// flusher runs until closing is closed, or until the store has failed.
func (s *acceptorLog) flusher(closing <-chan struct{}) {
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
		if s.flush() != nil {
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

// flush moves what is pending to log.db.
func (s *acceptorLog) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.moveHome(nil)
}

// commitHome commits r, which is too large for the journal, and all that is pending in one transaction of log.db. The
// caller holds commitMu; it waits for a flush that runs.
func (s *acceptorLog) commitHome(r *journal.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.moveHome(r)
}

// moveHome moves what is pending, and r after it unless it is nil, to log.db. The caller holds mu, and commitMu if
// there is an r; or is Open or Close.
func (s *acceptorLog) moveHome(r *journal.Record) error {
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
		w, err := newLogWriter(tx, was, s.edited, first, &s.arena)
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
	s.stats.entries.Add(uint64(len(b.entries)))
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
	s.stats.flushes.Add(1)
	wake(s.flushed)
	s.askToGrow()
	disk.ForgetPages(s.db, s.file)
	return nil
}

// trimPause is the time between two transactions that only delete truncated entries, trimEntries each.
const trimPause = 20 * time.Millisecond
