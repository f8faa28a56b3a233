package acceptor

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/space"
)

// bbolt grows a file inside a commit: it moves the end by 16 MiB and syncs the new size, and each page that is then
// written first takes its blocks at a sync. The grower does that work before, between commits, with zeros that are
// really written; bbolt then finds the file large enough. Pages are used again after truncation, so that a log in
// steady state does not grow at all.

// askToGrow wakes the grower when the log comes near the end of its blocks. The caller holds mu.
func (s *Log) askToGrow() {
	if s.solid < s.logHigh+s.options.GrowBytes/2 {
		wake(s.grow)
	}
}

// growStep writes one chunk of zeros behind the last block. No commit runs meanwhile: one that made the file grow
// itself would find its pages overwritten.
func (s *Log) growStep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return nil
	}
	if err := disk.Allocate(s.file, s.solid, zeroChunkBytes); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(zeros[:], s.solid); err != nil {
		return err
	}
	s.solid += zeroChunkBytes
	return nil
}

// solidBytes returns how many bytes from the beginning of log.db have blocks: all of them, or those in use at least,
// if bbolt has made the file longer than it needed.
func (s *Log) solidBytes() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(s.file.Fd()), &st); err != nil {
		return 0, disk.CannotStat(s.files.LogPath(), err)
	}
	if st.Blocks*512 >= st.Size {
		return st.Size, nil
	}
	tx, err := s.db.Begin(false)
	if err != nil {
		return 0, fmt.Errorf("%s: open a view: %w", s.files.LogPath(), err)
	}
	defer tx.Rollback()
	return min(st.Size, max(tx.Size(), disk.FirstHole(s.file))), nil
}

// writePages stands for bbolt's writing of pages. Before that, it takes the blocks that they lack from the file system,
// and from the reserve if it has too few. The need of a transaction is known only here. If free pages of the file lie
// apart, the row for a large entry comes to lie behind the last page, however many they are. And an entry beside large
// ones makes bbolt write these anew. The caller is bbolt, under mu. Offsets rise within a transaction, and the space
// behind the last page is used from its beginning.
func (s *Log) writePages(write pages.WriteAt, b []byte, off int64) (int, error) {
	if end := off + int64(len(b)); end > s.solid {
		promised, err := s.reserve.Claim(s.file, s.solid, end-s.solid)
		defer s.reserve.Fulfilled(promised)
		if err != nil {
			return 0, err
		}
		s.solid = end
	}
	return write(b, off)
}

// RunGrower fills log.db with zeros ahead of the log until closing is closed, or until the store has failed. usage
// measures the file system anew.
func (s *Log) RunGrower(closing <-chan struct{}, usage func() (space.Usage, error)) {
	for {
		select {
		case <-closing:
			return
		case <-s.grow:
		}
		if err := s.growAhead(closing, usage); err != nil && !errors.Is(err, syscall.ENOSPC) {
			s.failure.Fail(fmt.Errorf("%s: grow the file: %w", s.files.LogPath(), err))
			return
		}
	}
}

// growAhead adds GrowBytes of zeros, unless that would eat into the reserve.
func (s *Log) growAhead(closing <-chan struct{}, usage func() (space.Usage, error)) error {
	u, err := usage()
	if err != nil {
		return nil // bbolt will grow the file if it must
	}
	if u.FreeBytes-s.options.GrowBytes < u.ReserveBytes {
		return nil
	}
	for left := s.options.GrowBytes; left > 0; left -= zeroChunkBytes {
		select {
		case <-closing:
			return nil
		default:
		}
		if err := s.growStep(); err != nil {
			return err
		}
		// Not under the lock, and little at a time: a commit must not wait for it, nor sync it as its own.
		if err := disk.DataSync(s.file); err != nil {
			return err
		}
	}
	return nil
}
