package disk

import (
	"errors"
	"fmt"
	"sync/atomic"

	"tenure/internal/oslimit"
)

// Failure is the first failure of a store. All of its parts share one: it ends them all. It is safe for concurrent use.
type Failure struct {
	first atomic.Pointer[error]
	ended chan struct{} // closed with the first failure
}

// NewFailure returns the failure of a store that has not failed.
func NewFailure() *Failure { return &Failure{ended: make(chan struct{})} }

// Err returns the error that ended the store, or nil.
func (f *Failure) Err() error {
	if first := f.first.Load(); first != nil {
		return *first
	}
	return nil
}

// Fail ends the store: the first error stays, and every later call returns it. After an error of reading or writing it
// is not known what the disk holds. No fsync is tried again: a second one would report success for pages that the first
// one lost.
func (f *Failure) Fail(err error) error {
	switch {
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrClosed):
	case oslimit.Reached(err):
		err = fmt.Errorf("%w: %w: a limit of the process or the machine and no fault of the disk: the process must end; "+
			"raise LimitNOFILE or ulimit -n, or free memory, then start again", ErrFailed, err)
	default:
		err = fmt.Errorf("%w: %w; what is durable is not known: the process must end; mend the disk, then start again",
			ErrFailed, err)
	}
	if f.first.CompareAndSwap(nil, &err) {
		close(f.ended)
	}
	return f.Err()
}

// Ended returns a channel that is closed when the store has ended.
func (f *Failure) Ended() <-chan struct{} { return f.ended }
