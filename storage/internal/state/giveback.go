package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"tenure/storage/internal/disk"
)

// bbolt reuses the free pages of a file and never shrinks the file. GiveBack gives the blocks of free pages back to the
// file system, as holes: the file keeps its length and takes less space. DESIGN.md says why it does not copy the file
// instead.

const (
	// giveBackStep and giveBackRuns bound the bytes and the pieces of one step, during which a checkpoint waits.
	giveBackStep = 4 << 20
	giveBackRuns = 256
	// keptFree is the minimum of free bytes that keep their blocks.
	keptFree = 16 << 20
)

// ErrNoHoles means that the file system of the data directory does not support holes.
var ErrNoHoles = errors.New("the file system cannot take back parts of a file")

// GiveBack gives free pages of state.db back to the file system, at bytesPerSecond, and returns the number of bytes, as
// Store.GiveBack of package storage says. It is safe for concurrent use.
func (s *DB) GiveBack(ctx context.Context, bytesPerSecond int64) (given int64, err error) {
	pace := time.Duration(int64(time.Second) * giveBackStep / max(1, bytesPerSecond))
	ticker := time.NewTicker(max(pace, time.Millisecond))
	defer ticker.Stop()
	due := false
	for below := uint64(math.MaxUint64); below > 2; {
		var n int64
		if n, below, err = s.giveBackStep(below, &due); err != nil || below <= 2 {
			return given + n, err
		}
		given += n
		if err := s.await(ctx, ticker.C); err != nil {
			return given, err
		}
	}
	return given, nil
}

// giveBackStep gives back some of the free pages below page below, beginning at the end of the file, since bbolt uses
// the lowest pages first. It returns the page below which the next step begins, or 0 if nothing is left. It sets *due
// when more than half of the file is free; the pass then continues until only the pages to keep are left.
func (s *DB) giveBackStep(below uint64, due *bool) (given int64, next uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return 0, 0, err
	}
	before, err := s.Measure()
	if err != nil {
		return 0, 0, err
	}
	onDisk := before.Live + before.Reusable
	*due = *due || before.Reusable > onDisk/2
	enough := before.Reusable - max(before.Live/2, keptFree) // the excess
	if !*due || enough < giveBackStep {
		return 0, 0, nil
	}
	free := s.checked.Reusable()
	pageBytes := int64(s.checked.Newest().PageBytes)
	most := uint64(min(enough, giveBackStep) / pageBytes)
	next, err = free.LastRuns(below, most, giveBackRuns, func(first, n uint64) error {
		return disk.Punch(s.file, int64(first)*pageBytes, int64(n)*pageBytes)
	})
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
		return 0, 0, fmt.Errorf("%w: %w", ErrNoHoles, err)
	case err != nil:
		return 0, 0, s.failure.Fail(fmt.Errorf("%s: give back free pages: %w", s.files.StatePath(), err))
	}
	after, err := s.Measure()
	given = before.Reusable - after.Reusable
	s.counters.given.Add(uint64(max(0, given)))
	return given, next, err
}
