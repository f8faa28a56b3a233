package state

import (
	"context"
	"time"

	"tenure/storage/internal/disk"
)

// scrubPages is how many pages are compared with their checksums at a time. A checkpoint waits for no more than that.
const scrubPages = 64

// Scrub compares all pages of state.db that are in use with their checksums, at bytesPerSecond of file, and returns
// after one pass. Damage ends the store and is returned. It is safe for concurrent use.
func (s *DB) Scrub(ctx context.Context, bytesPerSecond int64) error {
	pace := time.Duration(int64(time.Second) * scrubPages * int64(s.checked.Newest().PageBytes) / max(1, bytesPerSecond))
	ticker := time.NewTicker(max(pace, time.Millisecond))
	defer ticker.Stop()
	for id := uint64(0); ; id += scrubPages {
		if more, err := s.scrubStep(id); err != nil || !more {
			return err
		}
		if err := s.await(ctx, ticker.C); err != nil {
			return err
		}
	}
}

// await waits until a pass over the file goes on, and returns an error if the pass must end.
func (s *DB) await(ctx context.Context, next <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.failure.Ended():
		return s.failure.Err()
	case <-next:
		return nil
	}
}

// scrubStep compares the pages from id on. It reports whether there are more behind them.
func (s *DB) scrubStep(id uint64) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return false, err
	}
	passed, more, err := s.checked.Scrub(id, scrubPages)
	if err != nil {
		return false, s.failure.Fail(disk.Damaged(s.files.StatePath(), "%w", err))
	}
	s.counters.scrubbed.Add(passed)
	return more, nil
}
