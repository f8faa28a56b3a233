package storage

import (
	"errors"
	"fmt"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// fate is whether a store goes on. All of its parts share one: the first failure of any of them ends the store.
type fate struct {
	failure atomic.Pointer[failure]
	ended   chan struct{} // closed with the first failure
}

type failure struct{ err error }

func newFate() *fate { return &fate{ended: make(chan struct{})} }

// failed returns the error that ended the store, or nil.
func (f *fate) failed() error {
	if first := f.failure.Load(); first != nil {
		return first.err
	}
	return nil
}

// fail ends the store: the first error stays, and every later call returns it. An error that is neither damage nor
// the end of the store by Close is one of reading or writing, after which it is not known what the disk holds: a
// second fsync would report success for pages that the first one lost, so there is none.
func (f *fate) fail(err error) error {
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w: %w; what is durable is not known: the process must end; mend the disk, then start again", ErrFailed, err)
	}
	if f.failure.CompareAndSwap(nil, &failure{err}) {
		close(f.ended)
	}
	return f.failed()
}

// write runs fn in one write transaction and commits it. bbolt's Update is not used: after a panic it would read the
// damaged file once more, on a goroutine where a second panic ends the process without a word.
// wedged, unless it is nil, is set if bbolt has panicked in Begin.
func (f *fate) write(db *bolt.DB, path, what string, wedged *atomic.Bool, fn func(*bolt.Tx) error) error {
	err := guard(path, func() error {
		begun := false
		defer func() {
			if !begun && wedged != nil {
				wedged.Store(true)
			}
		}()
		tx, err := db.Begin(true)
		begun = true
		if err != nil {
			return err
		}
		done := false
		defer func() {
			if !done {
				tx.Rollback()
			}
		}()
		if err := fn(tx); err != nil {
			return err
		}
		err = tx.Commit()
		done = true
		return err
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrDamaged):
		return f.fail(err)
	case errors.Is(err, errBadRecord), errors.Is(err, errBadPage):
		return f.fail(damage(path, "%s: %w", what, err))
	}
	return f.fail(fmt.Errorf("%s: %s: %w", path, what, err))
}
