package state

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tenure/storage/internal/disk"
	"tenure/storage/internal/space"
)

// room is what the disk has for the parts of a checkpoint, and waits until it is enough.
type room struct {
	file    *stateFile
	space   *space.Account
	options Options
	opened  atomic.Bool // Open has ended: what lacks space may wait for it
	// interrupted is closed by Interrupt: nothing waits for space any more.
	interrupted chan struct{}
	interrupt   sync.Once
}

func newRoom(f *stateFile, account *space.Account, o Options) room {
	return room{file: f, space: account, options: o, interrupted: make(chan struct{})}
}

// checkpointSpace returns how much state.db can take, and whether that is little. It asks the file system, because
// others may have filled it since the last Refresh.
func (r *room) checkpointSpace() (free int64, short bool) {
	u := r.space.Usage()
	size, err := r.file.Measure()
	if err != nil || u.ReserveBytes == 0 { // Open: the reserve is not known yet
		return space.MinCheckpointBytes, true
	}
	unused, err := r.space.Reserve.Unused()
	if err != nil {
		return space.MinCheckpointBytes, true
	}
	free = unused + size.Reusable/2
	return free, free < 4*u.ReserveBytes
}

// spacePoll is the time between two looks at the file system while a checkpoint waits for space.
const spacePoll = 100 * time.Millisecond

// errNoSpace: there is no space for a checkpoint that Open must complete.
var errNoSpace = errors.New("no space left for the rest of a checkpoint")

// errShortNow: space became short after a part was taken, and so what the part needs has not been measured.
var errShortNow = errors.New("space has become short")

// awaitPart returns once state.db can take p: in rows of free pages that are long enough, on the file system, out of
// the reserve file. It returns errShortNow if p must be measured first. The space is promised until the caller calls
// Reserve.Fulfilled.
func (r *room) awaitPart(p part) (promised int64, err error) {
	return r.awaitSpace(r.file.path, func() (int64, error) {
		space, short := r.checkpointSpace()
		switch {
		case short && !p.measured:
			return 0, errShortNow
		case !short:
			return r.missingOf(p.need, space)
		}
		idle := r.file.db.Stats().OpenTxN == 0
		runs, err := r.file.freeRuns(p.run)
		if err != nil {
			return 0, err
		}
		// Pages that the last transaction has freed cannot be used before the views that were open then are closed.
		// They count only when there is no view and no other space.
		pending := int64(r.file.db.Stats().PendingPageN) * int64(r.file.db.Info().PageSize)
		missing := p.need - max(0, runs-pending)
		if unused, err := r.space.Reserve.Unused(); err == nil && idle && unused < missing {
			missing = p.need - runs
		}
		return missing, nil
	})
}

// missingOf returns how many of need bytes the file system and the reserve file must have, where state.db can take
// space bytes and that is plenty. It returns all of need if they have so many, or if the file has a hole: free pages,
// which space counts, may lie apart. Otherwise it returns the part that space does not cover.
func (r *room) missingOf(need, space int64) (int64, error) {
	unused, err := r.space.Reserve.Unused()
	if err != nil || unused >= need {
		return need, err
	}
	if m := r.file.checked.Newest(); r.file.solid() < int64(m.HighWater)*int64(m.PageBytes) {
		return need, nil // a large value may come to lie in a hole
	}
	return need - space, nil
}

// awaitSpace returns once the file system has as many bytes free as missing returns, with what the reserve file gives
// up; nothing is missing at 0 or below. It returns an error when the store has ended or after Interrupt, and at once
// while the store is being opened and with Options.FailWithoutSpace. The space is promised until the caller calls
// Reserve.Fulfilled.
func (r *room) awaitSpace(file string, missing func() (int64, error)) (promised int64, err error) {
	for {
		if err := r.file.failure.Err(); err != nil {
			return 0, err
		}
		need, err := missing()
		if err != nil || need <= 0 {
			return 0, err
		}
		free, promised, err := r.space.Reserve.Promise(need, false)
		switch {
		case err != nil:
			return 0, disk.Unusable("%w", err)
		case free >= need:
			return promised, nil
		case !r.opened.Load() || r.options.FailWithoutSpace:
			return 0, disk.Unusable("%w: %s takes %d bytes and %d are free; make space on its file system",
				errNoSpace, file, need, free)
		}
		select {
		case <-r.interrupted:
			return 0, ErrInterrupted
		case <-r.file.failure.Ended():
		case <-time.After(spacePoll):
		}
	}
}
