package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tenure/internal/oslimit"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/pages"
)

// installReceived puts a snapshot that was received whole into the place of the state database, if it is ahead, and
// removes the remains of an incomplete one. Open calls it when the log is open and the state database is not. After a
// crash between any two of its steps the next Open goes on, because the received file counts until it has its new name:
//
//	the membership of the snapshot is durable, if it is newer
//	the log is truncated through the snapshot's slot; entries above it, promise and start record stay
//	the checksums of its pages have their name; until the next step they are not those of state.db's transaction
//	the file has its name, over that of the old state database
func (s *Store) installReceived() error {
	there, err := disk.Exists(s.files.ReceivedPath())
	if err != nil {
		return err
	}
	if !there {
		return dropReceived(s.files)
	}
	old, err := readStateMarks(s.files.StatePath(), 0)
	if err != nil {
		return nil // the state database's own opening says so
	}
	c, err := s.readReceived()
	if err != nil {
		return s.refuseReceived(old, err)
	}
	reached := max(old.marks.Slot, old.marks.Plan.Slot)
	if c.marks.Slot <= reached {
		s.note(fmt.Sprintf("a snapshot through slot %d was received and is not needed: the state is at slot %d",
			c.marks.Slot, reached))
		return dropReceived(s.files)
	}
	if err := s.adopt(&c.marks); err != nil {
		return err
	}
	if err := s.nameReceived(); err != nil {
		return err
	}
	s.stats.installed.Store(c.marks.Slot)
	s.note(fmt.Sprintf("the state is a snapshot through slot %d now; it was at slot %d", c.marks.Slot, old.marks.Slot))
	return nil
}

// readReceived reads the received file as Open reads a state database, and its owner.
func (s *Store) readReceived() (*stateContent, error) {
	sums := s.files.ReceivedSumsPath()
	if there, err := disk.Exists(sums); err != nil {
		return nil, err
	} else if !there {
		sums = s.files.SumsPath() // a crash came before the last step
	}
	c, err := readStateMarks(s.files.ReceivedPath(), s.options.VerifyBytes, sums)
	if err == nil && c.owner != s.node.identity.Load().Store {
		err = fmt.Errorf("it belongs to store %s", c.owner)
	}
	return c, err
}

// readStateMarks reads a state database that no bbolt has open: all of it up to a size of wholeBytes, and else its
// branch pages. If sums names the file with the checksums of its pages, they must hold.
func readStateMarks(path string, wholeBytes int64, sums ...string) (*stateContent, error) {
	f, err := oslimit.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := disk.Size(f)
	if err != nil {
		return nil, err
	}
	m, err := pages.NewestMeta(f, size)
	if err != nil {
		return nil, err
	}
	w := &pages.Walker{R: f, Meta: m}
	for _, path := range sums {
		c, err := pages.Open(f, &m, path, os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if !c.Known() {
			return nil, errNoSums
		}
		w = c.Walker(&m)
	}
	w.Skeleton = size > wholeBytes
	return readState(w)
}

// errNoSums: nobody has the checksums of the pages of a file.
var errNoSums = errors.New("the checksums of its pages are missing")

// refuseReceived drops a received file that cannot be read because of err, unless the log has been cut for it already:
// then the state that goes with the log is lost.
func (s *Store) refuseReceived(old *stateContent, err error) error {
	if uint64(s.log.Durable().Truncated) > max(old.marks.Slot, old.marks.Plan.Slot) {
		return disk.Damaged(s.files.ReceivedPath(), "%w", err)
	}
	s.note(fmt.Sprintf("%s was dropped: %v; the state is what it was before", s.files.ReceivedPath(), err))
	return dropReceived(s.files)
}

// adopt makes log.db go with the snapshot of m, whose file is durable.
func (s *Store) adopt(m *checkpointMarks) error {
	if m.Membership.Number > 0 {
		if err := s.node.setMembership(m.Membership); err != nil {
			return err
		}
	}
	return s.log.Truncate(multipaxos.Slot(m.Slot))
}

// nameReceived gives the received files the names of the old ones.
func (s *Store) nameReceived() error {
	rename := func(from, to string) error {
		err := os.Rename(from, to)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return disk.Unusable("cannot rename %s: %w; check the directory and its disk", from, disk.Plain(err))
		}
		if err := disk.SyncDir(s.files.Dir); err != nil {
			return disk.CannotSync(s.files.Dir, err)
		}
		return nil
	}
	if err := rename(s.files.ReceivedSumsPath(), s.files.SumsPath()); err != nil { // not there: a crash came after this step
		return err
	}
	return rename(s.files.ReceivedPath(), s.files.StatePath())
}
