package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"tenure/multipaxos"
)

// Store is an open data directory. See the package comment for what may be called at the same time.
type Store struct {
	dir     string
	options Options
	lock    *os.File
	notes   []string

	log       *bolt.DB
	logFile   *os.File // for sizes and for filling with zeros
	state     *bolt.DB
	stateFile *os.File // for sizes and for Verify

	failure atomic.Pointer[failure]
	closing chan struct{}
	closed  sync.Once
	work    sync.WaitGroup
	grow    chan struct{} // asks for more zeros behind the log

	// logMu is held while log.db is written. The values under it are copies of what the file holds.
	logMu    sync.Mutex
	arena    arena           // records of the commit that runs
	logHigh  int64           // bytes up to the last page in use, as of the commit before
	logEnd   int64           // size of the file, at least
	first    multipaxos.Slot // lowest slot that may have an entry on disk
	marks    atomic.Pointer[logMarks]
	identity atomic.Pointer[identityRecord]
	start    atomic.Pointer[startRecord]
	disk     diskRecord

	foldMu sync.Mutex
	folded atomic.Pointer[foldMarks]

	usageMu sync.Mutex
	usage   atomic.Pointer[Usage]
}

type failure struct{ err error }

func (s *Store) logPath() string   { return filepath.Join(s.dir, logName) }
func (s *Store) statePath() string { return filepath.Join(s.dir, stateName) }

// failed is the error that ended this store, or nil.
func (s *Store) failed() error {
	if f := s.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

// fail ends the store: the first error stays, and every later call returns it. An error that is neither damage nor
// the end of the store by Close is one of reading or writing, after which it is not known what the disk holds: a
// second fsync would report success for pages that the first one lost, so there is none.
func (s *Store) fail(err error) error {
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w: %w; what is durable is not known: the process must end; mend the disk, then start again", ErrFailed, err)
	}
	s.failure.CompareAndSwap(nil, &failure{err})
	return s.failed()
}

// Notes are remarks about the directory for the log of the server, found at Open: nothing that stops the node.
func (s *Store) Notes() []string { return s.notes }

// writeLog runs fn in a write transaction of log.db and makes it durable. The caller holds logMu. Any error ends the
// store.
func (s *Store) writeLog(what string, fn func(*bolt.Tx) error) error {
	return s.write(s.log, s.logPath(), what, fn)
}

// write runs fn in one write transaction and commits it. bbolt's Update is not used: after a panic it would read the
// damaged file once more, on a goroutine where a second panic ends the process without a word.
func (s *Store) write(db *bolt.DB, path, what string, fn func(*bolt.Tx) error) error {
	err := guard(path, func() error {
		tx, err := db.Begin(true)
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
		return s.fail(err)
	case errors.Is(err, errBadRecord):
		return s.fail(damage(path, "%s: %w", what, err))
	}
	return s.fail(fmt.Errorf("%s: %s: %w", path, what, err))
}

// Close ends the store and frees its lock. Open views must be closed before, or it waits for them. Nothing needs to
// be written: what Commit and Fold returned from is durable. It may be called more than once.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		s.fail(fmt.Errorf("%w: %s", ErrClosed, s.dir))
		close(s.closing)
		s.work.Wait()
		err = s.release()
	})
	return err
}

// release closes whatever is open, the lock last.
func (s *Store) release() error {
	var errs []error
	if s.state != nil {
		errs = append(errs, s.state.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	for _, f := range []*os.File{s.stateFile, s.logFile, s.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
