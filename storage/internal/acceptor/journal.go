package acceptor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/ident"
	"tenure/internal/oslimit"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/space"
	"tenure/storage/journal"
)

// dataFile is the journal's file: its size never changes, so that only its data needs a sync.
type dataFile struct {
	*os.File
	syncer *syncer
}

func (f dataFile) Sync() error { return f.syncer.Sync() }

// MinJournalBytes is the least size of a journal.
const MinJournalBytes = 64 << 10

// journalSize returns what a new journal takes where free bytes are free.
func (o Options) journalSize(free int64) int64 {
	return max(min(o.JournalBytes, free/16), MinJournalBytes) &^ 4095
}

// Sizes returns what a new log.db and a new journal take where free bytes are free.
func (o Options) Sizes(free int64) (logBytes, journalBytes int64) {
	return min(o.InitialBytes, free/16) &^ 4095, o.journalSize(free)
}

// MakeJournal makes an empty journal, durable except for its name.
func MakeJournal(path string, size int64) error {
	f, err := oslimit.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(zeroFill(f, size), f.Close())
}

// OpenJournal reads the journal and puts what log.db does not have over it.
func (s *Log) OpenJournal(owner ident.StoreID) error {
	if s.logged.Load().JournalBytes == 0 {
		if err := s.addJournal(); err != nil {
			return err
		}
	}
	f, err := oslimit.OpenFile(s.files.JournalPath(), os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return disk.Damaged(s.files.JournalPath(), "the file is missing beside %s", disk.LogName)
	case err != nil:
		return disk.CannotOpen(s.files.JournalPath(), err)
	}
	s.journalFile = f
	size, err := disk.Size(f)
	if err != nil {
		return err
	}
	marks := s.logged.Load()
	if size != marks.JournalBytes {
		return disk.Damaged(s.files.JournalPath(), "it has %d bytes and was made with %d", size, marks.JournalBytes)
	}
	disk.WillRead(f)
	home := journal.Home{Journaled: marks.Journaled, Generation: marks.Generation, Seen: marks.Seen}
	s.journalSync = newSyncer(f)
	ring, err := journal.Open(dataFile{f, s.journalSync}, size, owner, home, s.replay)
	switch {
	case errors.Is(err, journal.ErrHomeOlder):
		return disk.Damaged(s.files.LogPath(), "%w: it is an older copy", err)
	case errors.Is(err, journal.ErrDamaged):
		return disk.Damaged(s.files.JournalPath(), "%w", err)
	case err != nil:
		return disk.Unusable("cannot read and sync %s: %w; check the disk", s.files.JournalPath(), disk.Plain(err))
	}
	s.ring = ring
	s.counters.cutOff.Store(ring.Last() - s.pending.number)
	s.pending.number = ring.Last() // what was cut off counts as moved, so that its number is not used again
	return nil
}

// replay takes note of a record that the journal has and log.db has not.
func (s *Log) replay(r *journal.Record, at journal.Place) error {
	if err := Follows(s.pending.durable(), r); err != nil {
		return fmt.Errorf("%w: record %d %w", journal.ErrDamaged, r.Number, err)
	}
	s.pending.add(r, at)
	s.counters.replayed.Add(1)
	return nil
}

// Settle makes the log ready for commits. After a commit that was cut off, all that is pending goes to log.db, so that
// no later record can be taken for a part of that one.
func (s *Log) Settle() error {
	if s.counters.cutOff.Load() == 0 {
		return nil
	}
	return s.Flush()
}

// Follows checks that a record can have been written over marks.
func Follows(was multipaxos.Durable, r *journal.Record) error {
	m := r.Marks
	if m.Promised.Less(was.Promised) || m.Chosen < was.Chosen || m.Truncated < was.Truncated || m.Last < was.Last {
		return fmt.Errorf("goes back from %+v to %+v", was, m)
	}
	for i := range r.Entries {
		if slot := r.Entries[i].Slot; slot <= was.Truncated || slot > m.Last {
			return fmt.Errorf("has an entry of slot %d after %+v", slot, was)
		}
	}
	return nil
}

// addJournal makes the journal of a store that comes from a version without one. A crash in it leaves zeros behind.
func (s *Log) addJournal() error {
	path := s.files.JournalPath()
	fail := func(err error) error {
		return disk.Unusable("cannot make %s: %w; check the directory and its disk", path, disk.Plain(err))
	}
	free, _, err := space.Free(s.files.Dir)
	if err != nil {
		return fail(err)
	}
	size := s.options.journalSize(free)
	if need := size + space.StartBytes; free < need {
		return disk.Unusable("no space in %s: %d bytes are free and the journal takes %d; make space", s.files.Dir, free,
			need)
	}
	there, err := disk.Exists(path)
	if err != nil {
		return err
	}
	if there {
		zero, err := onlyZeros(path)
		if err != nil {
			return fail(err)
		}
		if !zero {
			return disk.Damaged(s.files.LogPath(), "it never had a journal, and there is one with records: "+
				"it is an older copy")
		}
		if err := os.Remove(path); err != nil {
			return fail(err)
		}
	}
	if err := MakeJournal(path, size); err != nil {
		return fail(err)
	}
	if err := disk.SyncDir(s.files.Dir); err != nil {
		return fail(err)
	}
	next := *s.logged.Load()
	next.JournalBytes = size
	if err := s.write("add the journal", &next, func(*bolt.Tx) error { return nil }); err != nil {
		return err
	}
	s.logged.Store(&next)
	return nil
}

// onlyZeros reports whether nothing was ever written into the file at path.
func onlyZeros(path string) (bool, error) {
	f, err := oslimit.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	buf := make([]byte, zeroChunkBytes)
	for {
		n, err := f.Read(buf)
		if !bytes.Equal(buf[:n], zeros[:n]) {
			return false, nil
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}
