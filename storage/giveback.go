package storage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"time"

	"golang.org/x/sys/unix"
)

// bbolt uses the free pages of a file again and never makes the file smaller. GiveBack gives the blocks under free pages
// back to the file system, as holes: the file keeps its length, and takes less space. DESIGN.md says why not by a copy.

const (
	// giveBackStep is how much is given back while a checkpoint waits, and giveBackRuns in how many pieces.
	giveBackStep = 4 << 20
	giveBackRuns = 256
	// keptFree is the least of free pages that keep their blocks.
	keptFree = 16 << 20
)

// ErrNoHoles: the file system of the data directory cannot take back a part of a file.
var ErrNoHoles = errors.New("the file system cannot take back parts of a file")

// GiveBack gives free pages of state.db back to the file system, at bytesPerSecond, if more than half of what the file
// has on disk is free. It keeps half as much free as is in use, at least 16 MiB, for the next checkpoints. It returns how
// many bytes it has given back: none if there is not enough, or a long view still needs the pages. It holds up no view,
// and a checkpoint for a few milliseconds. It needs no space. A crash at any moment costs nothing: no transaction that
// could come back needs a free page. The error is ErrNoHoles, that of ctx, or that of the store, which has ended.
func (s *Store) GiveBack(ctx context.Context, bytesPerSecond int64) (given int64, err error) {
	pace := time.Duration(int64(time.Second) * giveBackStep / max(1, bytesPerSecond))
	ticker := time.NewTicker(max(pace, time.Millisecond))
	defer ticker.Stop()
	due := false
	for below := uint64(math.MaxUint64); below > 2; {
		var n int64
		if n, below, err = s.state.giveBackStep(below, &due); err != nil || below <= 2 {
			return given + n, err
		}
		given += n
		select {
		case <-ctx.Done():
			return given, ctx.Err()
		case <-s.ended:
			return given, s.failed()
		case <-ticker.C:
		}
	}
	return given, nil
}

// giveBackStep gives back some of the free pages below a page, from the end of the file on, since bbolt takes the first
// ones first. It returns below which page the next step begins, 0 if there is no more. due says that the pass has found
// more than half of the file free; then it goes on until as much is left as is to be kept.
func (s *stateDB) giveBackStep(below uint64, due *bool) (given int64, next uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed(); err != nil {
		return 0, 0, err
	}
	before, err := s.measure()
	if err != nil {
		return 0, 0, err
	}
	onDisk := before.live + before.blocks
	*due = *due || before.blocks > onDisk/2
	enough := before.blocks - max(before.live/2, keptFree) // what is too much
	if !*due || enough < giveBackStep {
		return 0, 0, nil
	}
	free, err := availablePages(s.db)
	if err != nil {
		return 0, 0, unusable("%s: %w", s.statePath(), err)
	}
	pageBytes := int64(s.checked.pageBytes)
	next, err = lastRuns(free, below, uint64(min(enough, giveBackStep)/pageBytes), func(first, pages uint64) error {
		return punch(s.file, int64(first)*pageBytes, int64(pages)*pageBytes)
	})
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
		return 0, 0, fmt.Errorf("%w: %w", ErrNoHoles, err)
	case err != nil:
		return 0, 0, s.fail(fmt.Errorf("%s: give back free pages: %w", s.statePath(), err))
	}
	after, err := s.measure()
	given = before.blocks - after.blocks
	s.stats.given.Add(uint64(max(0, given)))
	return given, next, err
}

// lastRuns calls fn with rows of pages of free, which rises, that are below a page, the last first, until they have so
// many pages or giveBackRuns are done. It returns the first page of the last row, or 0 if there are none below it.
func lastRuns(free pageIDs, below, pages uint64, fn func(first, pages uint64) error) (next uint64, err error) {
	end := sort.Search(free.len(), func(i int) bool { return free.at(i) >= below })
	for runs := 0; end > 0 && pages > 0 && runs < giveBackRuns; runs++ {
		first, n := free.at(end-1), uint64(1)
		for end--; end > 0 && n < pages && free.at(end-1) == first-1; end-- {
			first, n = first-1, n+1
		}
		if err := fn(first, n); err != nil {
			return 0, err
		}
		next, pages = first, pages-n
	}
	if end == 0 {
		return 0, nil
	}
	return next, nil
}

// solid returns how many bytes of state.db's beginning have no holes. What bbolt takes behind them needs space of the
// file system.
func (s *stateDB) solid() int64 {
	if n := firstHole(s.file); n > 0 {
		return n
	}
	return math.MaxInt64
}
