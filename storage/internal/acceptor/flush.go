package acceptor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

// An entry stays in the journal until it is truncated, as a rule. The flusher moves the oldest records to log.db when
// the ring needs their place: of them it writes only the last write of each slot, in slot order, and no entry that was
// truncated meanwhile. Commits go on beside it. It also notes in log.db how far the journal is, so that an older copy
// of the journal does not pass for it.

// fullBytes returns how much is pending before some of it is moved. Three of the largest records are free then: the
// ring's end may waste one, and while the flusher moves, commits have the place of another. So a commit waits only for
// a flush that has been asked for.
func (s *Log) fullBytes() int64 { return s.ring.Bytes() - 3*int64(s.ring.Limit()) }

// RunFlusher runs until closing is closed, or until the store has failed.
func (s *Log) RunFlusher(closing <-chan struct{}) {
	due := time.NewTimer(s.options.NoteAfter)
	defer due.Stop()
	for {
		bytes := int64(0)
		select {
		case <-closing:
			return
		case <-s.full:
			if s.pending.size() < s.fullBytes() {
				continue // the flush before took it
			}
			bytes = s.options.FlushBytes
		case <-s.dirty:
			due.Reset(s.options.NoteAfter)
			continue
		case <-due.C:
		}
		if s.moveSome(bytes) != nil {
			return // the next call of anything says why
		}
		if s.trimming.Load() {
			due.Reset(trimPause)
		}
		if s.pending.size() >= s.fullBytes() {
			wake(s.full)
		}
	}
}

// moveSome moves so many bytes of the oldest records to log.db, and lets go of those of which no entry is left. It
// notes how far the journal is.
func (s *Log) moveSome(bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.move(bytes, nil)
}

// Flush moves all that is pending when it is called to log.db, durably. It is safe for concurrent use.
func (s *Log) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.moveAll()
}

// moveAll moves all that is pending, a part in each transaction. The caller holds mu.
func (s *Log) moveAll() error {
	for through := s.pending.last(); ; {
		if err := s.move(largeMove, nil); err != nil || s.logged.Load().Journaled >= through {
			return err
		}
	}
}

// largeMove is how many bytes of records a transaction takes when all have to go.
const largeMove = 1 << 20

// commitHome commits r in a transaction of log.db, and all that is pending before. It waits for a flush that runs. The
// caller holds commitMu.
func (s *Log) commitHome(r *journal.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	if err := s.moveAll(); err != nil {
		return err
	}
	return s.move(0, r)
}

// Truncate drops the entries through slot, durably, with all that is pending.
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

// move is one transaction of log.db: it takes so many bytes of the oldest records, and then r unless it is nil; nothing
// is pending then. The caller holds mu, and commitMu if there is an r.
func (s *Log) move(bytes int64, r *journal.Record) error {
	s.unnoted.Store(false)
	b := s.pending.collect(bytes, s.located)
	s.located = b.entries
	was := s.logged.Load()
	if r == nil && b.records == 0 && was.Seen >= s.pending.last() && !s.trimming.Load() {
		return nil
	}
	entries, err := s.load(&b)
	if err != nil {
		return s.failure.Fail(s.unreadable(err))
	}
	if r != nil {
		b.marks, entries = r.Marks, append(entries, r.Entries...)
	}
	next, first := *was, s.first
	if b.all || b.records > 0 {
		next.setDurable(b.marks)
		next.Journaled = b.through
	}
	s.arena.Reset()
	err = s.write("commit", &next, func(tx *bolt.Tx) error {
		s.logHigh = tx.Size()
		w, err := newEntryWriter(tx, was, s.edited, first, &s.arena)
		if err != nil {
			return err
		}
		if err := w.put(entries); err != nil {
			return err
		}
		if err := w.trim(next.Truncated, max(trimEntries, 4*len(entries))); err != nil {
			return err
		}
		// The newest entry may be in a later record, or truncated by one.
		next.Last = max(w.last, next.Truncated)
		next.Entries, first, s.edited = w.digest, w.first, w.sums.done()
		return nil
	})
	if err != nil {
		return err
	}
	s.counters.entries.Add(uint64(len(entries)))
	s.first = first
	s.trimming.Store(first != 0 && first <= next.Truncated)
	s.pending.drop(&b, func() {
		s.logged.Store(&next)
		if r != nil {
			s.pending.marks = r.Marks
		}
	})
	if len(entries) > 0 {
		s.counters.flushes.Add(1)
	}
	wake(s.flushed)
	s.askToGrow()
	disk.ForgetPages(s.db, s.file)
	return nil
}

// load reads the entries of b out of the journal, and its marks unless they are those of the whole log.
func (s *Log) load(b *batch) ([]multipaxos.Entry, error) {
	entries := make([]multipaxos.Entry, len(b.entries))
	order := make([]int, len(b.entries)) // of the records that the entries are in
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(b.entries[i].number) - int(b.entries[j].number) })
	from := reader{ring: s.ring}
	for _, i := range order {
		e, err := from.entry(&b.entries[i])
		if err != nil {
			return nil, err
		}
		entries[i] = e
	}
	if !b.all && b.records > 0 {
		r, err := from.record(b.through, b.at)
		if err != nil {
			return nil, err
		}
		b.marks = r.Marks
	}
	return entries, nil
}

// unreadable returns why a record could not be read: damage, or an error of the disk.
func (s *Log) unreadable(err error) error {
	if errors.Is(err, journal.ErrDamaged) {
		return disk.Damaged(s.files.JournalPath(), "%w", err)
	}
	return fmt.Errorf("%s: %w", s.files.JournalPath(), err)
}

// reader reads records of the journal. It keeps the last one, since neighbouring entries mostly share it.
type reader struct {
	ring *journal.Ring
	last journal.Record
}

// record returns a record. It is valid until the next call; its values stay.
func (r *reader) record(number uint64, at journal.Place) (*journal.Record, error) {
	if r.last.Number != number {
		rec, err := r.ring.Load(number, at)
		if err != nil {
			return nil, err
		}
		r.last = rec
	}
	return &r.last, nil
}

// entry returns a pending entry. Of several in one slot of a record the last one counts.
func (r *reader) entry(e *located) (multipaxos.Entry, error) {
	rec, err := r.record(e.number, e.at)
	if err != nil {
		return multipaxos.Entry{}, err
	}
	for i := len(rec.Entries) - 1; i >= 0; i-- {
		if rec.Entries[i].Slot == e.slot && len(rec.Entries[i].Value) == int(e.bytes) {
			return rec.Entries[i], nil
		}
	}
	return multipaxos.Entry{}, fmt.Errorf("%w: record %d has no entry of slot %d", journal.ErrDamaged, e.number, e.slot)
}

// trimPause is the time between two transactions that only delete truncated entries, trimEntries each.
const trimPause = 20 * time.Millisecond
