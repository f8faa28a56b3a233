package state

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/space"
)

// stateFile is state.db, open: for bbolt, and for reads of pages that pass their checksums.
type stateFile struct {
	failure *disk.Failure
	path    string
	db      *bolt.DB
	file    *os.File // for all readings but bbolt's own, and for sizes
	checked *pages.File
	wedged  atomic.Bool // bbolt has panicked in Begin: the file cannot be closed
}

// boltOptions: no scan for free pages at the start, the file may be large. The list of free pages must find space for
// itself, in one run of pages, with each checkpoint. The array is used up from the file's beginning and leaves such
// runs; the map breaks them up until the list goes to the file's end each time (TestStateDBFileStopsGrowing; 100,000
// keys: 178 MiB of 223 free after 40 minutes of writes, and growing).
var boltOptions = bolt.Options{FreelistType: bolt.FreelistArrayType, Timeout: time.Second, OpenFile: oslimit.OpenFile}

// pin opens a view of the newest transaction, which keeps its pages from being written to. It asks nothing of bbolt once
// the store has ended: if bbolt has panicked in Begin, it holds a lock for ever.
func (f *stateFile) pin() (*pages.View, error) {
	var failed error // of bbolt
	v, err := f.checked.View(func() (tx *bolt.Tx, err error) {
		if failed = f.failure.Err(); failed != nil {
			return nil, failed
		}
		err = disk.Guard(f.path, func() (err error) {
			tx, err = f.db.Begin(false)
			return err
		})
		if err != nil {
			f.wedged.Store(errors.Is(err, disk.ErrDamaged))
			failed = f.failure.Fail(fmt.Errorf("%s: open a view: %w", f.path, err))
		}
		return tx, failed
	})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, f.failure.Fail(disk.Damaged(f.path, "%w", err))
	}
	return v, nil
}

// Measure measures state.db. It opens its view as View does: bbolt panics and keeps its locks if it finds no whole meta
// page.
func (f *stateFile) Measure() (space.Measures, error) {
	v, err := f.pin()
	if err != nil {
		return space.Measures{}, err
	}
	defer v.Close()
	return space.Measure(f.db, v.Tx(), f.file)
}

// solid returns the number of bytes before the first hole of state.db. Pages that bbolt uses after them need new space
// of the file system.
func (f *stateFile) solid() int64 {
	if n := disk.FirstHole(f.file); n > 0 {
		return n
	}
	return math.MaxInt64
}

// freeRuns returns the bytes of state.db's free pages that lie in runs of at least run bytes before the first hole:
// bbolt uses the first run that is long enough. In a file that is too large to search it counts half of the free pages.
func (f *stateFile) freeRuns(run int64) (free int64, err error) {
	size, err := f.Measure()
	if err != nil || size.File > maxRunsFile {
		return size.Reusable / 2, err
	}
	m, list := f.checked.Newest(), f.checked.Free()
	pageBytes := int64(m.PageBytes)
	end := min(int64(m.HighWater), f.solid()/pageBytes)
	length := int64(0)
	for id := int64(2); id <= end; id++ {
		if id < end && list.Has(uint64(id)) {
			length += pageBytes
			continue
		}
		if length >= run {
			free += length
		}
		length = 0
	}
	return free, nil
}

// maxRunsFile is the size of the largest state.db in which freeRuns looks at every page.
const maxRunsFile = 16 << 30

// close closes the file, unless bbolt has panicked in it. If views stay open for longer than wait, it returns an error
// and leaves bbolt's file open.
func (f *stateFile) close(wait time.Duration) error {
	var errs []error
	if f.db != nil && !f.wedged.Load() {
		f.checked.StopSharing()
		closed := make(chan error, 1)
		go func() { closed <- f.db.Close() }()
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case err := <-closed:
			errs = append(errs, err)
		case <-timer.C:
			errs = append(errs, fmt.Errorf("%s is still being read %v after the store was to close: a view of it was "+
				"not closed", f.path, wait))
		}
	}
	if f.checked != nil {
		errs = append(errs, f.checked.Close())
	}
	return errors.Join(append(errs, disk.CloseFiles(f.file))...)
}
