package storage

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tenure/internal/oslimit"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/space"
	"tenure/storage/internal/state"
)

// minSpaceBytes is the least space, besides its log and journal, with which a store is created.
const minSpaceBytes = 1 << 20

// create writes the files of a new store: state.db, the journal, then log.db under another name, which it gets when all
// are whole and durable. A crash before that leaves the other name behind, and all is made anew.
func (s *Store) create() error {
	free, _, err := space.Free(s.files.Dir)
	if err != nil {
		return disk.Unusable("%w", err)
	}
	logBytes, journalBytes := s.options.log().Sizes(free)
	if need := logBytes + journalBytes + minSpaceBytes; free < need {
		return disk.Unusable("no space in %s: %d bytes are free and a new store takes %d; "+
			"make space or choose another disk", s.files.Dir, free, need)
	}
	if err := s.createFiles(logBytes, journalBytes); err != nil {
		return disk.Unusable("cannot create a store in %s: %w; check its permissions and its disk", s.files.Dir, err)
	}
	return nil
}

func (s *Store) createFiles(logBytes, journalBytes int64) error {
	unfinished := filepath.Join(s.files.Dir, newLogName)
	for _, path := range []string{s.files.StatePath(), s.files.JournalPath(), unfinished} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// The name log.db.new is durable before the other files are there: alone, they would look like those of a lost log.
	f, err := oslimit.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := disk.SyncDir(s.files.Dir); err != nil {
		return err
	}
	// The directory's own name, whoever made it. Where the one above cannot be read, we did not make it.
	if err := disk.SyncDir(filepath.Dir(s.files.Dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	var node nodeContent
	if _, err := rand.Read(node.identity.Store[:]); err != nil {
		return err
	}
	if err := state.Create(s.files.StatePath(), node.identity.Store); err != nil {
		return err
	}
	if err := acceptor.MakeJournal(s.files.JournalPath(), journalBytes); err != nil {
		return err
	}
	if node.disk, err = locate(f); err != nil {
		return err
	}
	if err := acceptor.Create(f, logBytes, journalBytes, node.records()); err != nil {
		return err
	}
	if err := disk.SyncDir(s.files.Dir); err != nil { // the other two must not come after the rename
		return err
	}
	if err := os.Rename(unfinished, s.files.LogPath()); err != nil {
		return err
	}
	return disk.SyncDir(s.files.Dir)
}
