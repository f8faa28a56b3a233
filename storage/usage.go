package storage

import (
	"tenure/storage/internal/disk"
	"tenure/storage/internal/space"
)

// Usage is what the store takes and what is left, as of the last Refresh.
type Usage = space.Usage

// Usage returns what the last Refresh found. It is cheap and safe for concurrent use.
func (s *Store) Usage() Usage { return s.space.Usage() }

// Refresh measures the files and the file system anew. It takes microseconds and never waits for a sync. It is safe for
// concurrent use.
func (s *Store) Refresh() error { return s.space.Refresh(s.taken) }

// taken measures the files.
func (s *Store) taken() (space.Taken, error) {
	logSize, err := s.log.Measure()
	if err != nil {
		return space.Taken{}, err
	}
	stateSize, err := s.state.Measure()
	if err != nil {
		return space.Taken{}, err
	}
	return space.Taken{Log: logSize, State: stateSize, JournalBytes: s.log.JournalBytes(),
		PendingBytes: s.log.PendingBytes()}, nil
}

// checkSpace returns an error if there is less space than a start needs.
func (s *Store) checkSpace() error {
	u := s.Usage()
	logSize, err := s.log.Measure()
	if err != nil {
		return err
	}
	need := int64(space.StartBytes)
	if s.log.Stats().CutOff { // then all of it goes to log.db
		need += s.log.PendingBytes()
	}
	if space := u.FreeBytes + u.HeldBytes + logSize.Reusable; space < need {
		return disk.Unusable("no space in %s: %d bytes are left and a start needs %d; "+
			"free some space on its file system", s.files.Dir, space, need)
	}
	return nil
}
