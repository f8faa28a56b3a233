package storage

import (
	"errors"
	"fmt"
	"sync/atomic"

	"tenure/internal/oslimit"
)

// failure is the first failure of a store. All of its parts share one: it ends them all.
type failure struct {
	first atomic.Pointer[error]
	ended chan struct{} // closed with the first failure
}

func newFailure() *failure { return &failure{ended: make(chan struct{})} }

// failed returns the error that ended the store, or nil.
func (f *failure) failed() error {
	if first := f.first.Load(); first != nil {
		return *first
	}
	return nil
}

// fail ends the store: the first error stays, and every later call returns it. After an error of reading or writing it
// is not known what the disk holds. No fsync is tried again: a second one would report success for pages that the first
// one lost.
func (f *failure) fail(err error) error {
	switch {
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrClosed):
	case oslimit.Reached(err):
		err = fmt.Errorf("%w: %w: a limit of the process or the machine and no fault of the disk: the process must end; raise "+
			"LimitNOFILE or ulimit -n, or free memory, then start again", ErrFailed, err)
	default:
		err = fmt.Errorf("%w: %w; what is durable is not known: the process must end; mend the disk, then start again",
			ErrFailed, err)
	}
	if f.first.CompareAndSwap(nil, &err) {
		close(f.ended)
	}
	return f.failed()
}
