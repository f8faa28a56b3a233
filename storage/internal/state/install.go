package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
)

// Install replaces the state database of owner by a received snapshot, if that is whole and ahead. It removes the
// remains of an incomplete snapshot. log is what the open log holds; the state database is not open yet. It returns the
// slot of an installed snapshot, and a note for the server's log. After a crash between any two of its steps the next
// Install goes on, because the received file counts until it has its new name:
//
//	adopt: the membership of the snapshot is durable, if it is newer
//	adopt: the log is truncated through the snapshot's slot; entries above it, promise and start record stay
//	the checksums of its pages have their name; until the next step they are not those of state.db's transaction
//	the file has its name, over that of the old state database
func (s *DB) Install(
	owner ident.StoreID, log multipaxos.Durable, adopt func(multipaxos.Slot, ident.Membership) error,
) (installed multipaxos.Slot, note string, err error) {
	there, err := disk.Exists(s.files.ReceivedPath())
	if err != nil {
		return 0, "", err
	}
	if !there {
		return 0, "", dropReceived(s.files)
	}
	old, err := ReadContent(s.files.StatePath(), 0)
	if err != nil {
		return 0, "", nil // the state database's own opening says so
	}
	reached := max(old.Marks.Slot, old.Marks.Plan.Slot)
	c, err := s.readReceived(owner)
	switch {
	case err != nil && uint64(log.Truncated) > reached: // the log was cut for it: the state that goes with it is lost
		return 0, "", disk.Damaged(s.files.ReceivedPath(), "%w", err)
	case err != nil:
		note = fmt.Sprintf("%s was dropped: %v; the state is what it was before", s.files.ReceivedPath(), err)
		return 0, note, dropReceived(s.files)
	case c.Marks.Slot <= reached:
		note = fmt.Sprintf("a snapshot through slot %d was received and is not needed: the state is at slot %d",
			c.Marks.Slot, reached)
		return 0, note, dropReceived(s.files)
	}
	installed = multipaxos.Slot(c.Marks.Slot)
	if err := adopt(installed, c.Marks.Membership); err != nil {
		return 0, "", err
	}
	if err := s.nameReceived(); err != nil {
		return 0, "", err
	}
	note = fmt.Sprintf("the state is a snapshot through slot %d now; it was at slot %d", installed, old.Marks.Slot)
	return installed, note, nil
}

// ReadReceived reads the received file as ReadContent does, with its checksums.
func ReadReceived(f disk.Files, wholeBytes int64) (*Content, error) {
	sums := f.ReceivedSumsPath()
	if there, err := disk.Exists(sums); err != nil {
		return nil, err
	} else if !there {
		sums = f.SumsPath() // a crash came before the last step
	}
	return ReadContent(f.ReceivedPath(), wholeBytes, sums)
}

// readReceived reads the received file as Open reads a state database, and its owner.
func (s *DB) readReceived(owner ident.StoreID) (*Content, error) {
	c, err := ReadReceived(s.files, s.options.VerifyBytes)
	if err == nil && c.Owner != owner {
		err = fmt.Errorf("it belongs to store %s", c.Owner)
	}
	return c, err
}

// nameReceived gives the received files the names of the old ones.
func (s *DB) nameReceived() error {
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
	err := rename(s.files.ReceivedSumsPath(), s.files.SumsPath()) // not there: a crash came after this step
	if err != nil {
		return err
	}
	return rename(s.files.ReceivedPath(), s.files.StatePath())
}
