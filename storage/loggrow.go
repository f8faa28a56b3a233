package storage

import (
	"errors"
	"fmt"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// bbolt grows a file inside a commit: it moves the end by 16 MiB and syncs the new size, and each page that is then
// written first takes its blocks at a sync. The grower does that work before, between commits, with zeros that are
// really written; bbolt then finds the file large enough. Pages are used again after truncation, so that a log in
// steady state does not grow at all.

// askToGrow wakes the grower when the log comes near the end of its file. The caller holds mu.
func (s *acceptorLog) askToGrow() {
	enough := s.logHigh + s.options.LogGrowBytes/2
	if s.logEnd >= enough {
		return
	}
	var err error
	if s.logEnd, err = fileSize(s.file); err != nil || s.logEnd >= enough {
		return
	}
	select {
	case s.grow <- struct{}{}:
	default:
	}
}

// growStep writes one chunk of zeros behind the end. No commit runs meanwhile: one that made the file grow itself
// would find its pages overwritten.
func (s *acceptorLog) growStep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed(); err != nil {
		return nil
	}
	end, err := fileSize(s.file)
	if err != nil {
		return err
	}
	if err := allocate(s.file, end, zeroChunkBytes); err != nil {
		return err
	}
	_, err = s.file.WriteAt(zeros[:], end)
	return err
}

// grower runs until Close, or until the store has failed.
func (s *Store) grower() {
	for {
		select {
		case <-s.closing:
			return
		case <-s.log.grow:
		}
		if err := s.growLog(); err != nil && !errors.Is(err, syscall.ENOSPC) {
			s.fail(fmt.Errorf("%s: grow the file: %w", s.logPath(), err))
			return
		}
	}
}

// growLog adds LogGrowBytes of zeros, unless that would eat into the reserve.
func (s *Store) growLog() error {
	if err := s.Refresh(); err != nil {
		return nil // bbolt will grow the file if it must
	}
	if u := s.Usage(); u.FreeBytes-s.options.LogGrowBytes < u.ReserveBytes {
		return nil
	}
	for left := s.options.LogGrowBytes; left > 0; left -= zeroChunkBytes {
		select {
		case <-s.closing:
			return nil
		default:
		}
		if err := s.log.growStep(); err != nil {
			return err
		}
		// Not under the lock, and little at a time: a commit must not wait for it, nor sync it as its own.
		if err := dataSync(s.log.file); err != nil {
			return err
		}
	}
	return nil
}

// use is how much of a file's pages hold something.
type use struct {
	highWater int64 // bytes up to the last page ever used
	live      int64 // of these, bytes that are not free or about to be
}

// usedBytes returns what tx, a view of db, uses of its file.
func usedBytes(db *bolt.DB, tx *bolt.Tx) use {
	st := db.Stats()
	u := use{highWater: tx.Size()}
	u.live = max(0, u.highWater-int64(st.FreePageN+st.PendingPageN)*int64(db.Info().PageSize))
	return u
}
