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
	"tenure/storage/journal"
)

// Store is an open data directory. See the package comment for what may be called at the same time.
type Store struct {
	dir     string
	options Options
	lock    *os.File
	notes   []string

	log         *bolt.DB
	logFile     *os.File // for sizes and for filling with zeros
	journalFile *os.File
	journalSync *syncer
	state       *bolt.DB
	stateFile   *os.File // for all readings but bbolt's own, and for sizes
	checked     *checkedFile

	failure atomic.Pointer[failure]
	wedged  atomic.Bool   // bbolt has panicked in Begin: state.db cannot be closed
	ended   chan struct{} // closed with the first failure
	closing chan struct{}
	closed  sync.Once
	// interrupted is closed by Interrupt: nothing waits for space any more.
	interrupted chan struct{}
	interrupt   sync.Once
	work        sync.WaitGroup
	grow        chan struct{} // asks for more zeros behind the log

	// commitMu is held by Commit. What is under it writes the journal. It is taken before boltMu.
	commitMu sync.Mutex
	ring     *journal.Ring
	record   journal.Record // of the commit that runs

	// pending is what the journal holds and log.db does not; flush.go moves it.
	pending pending
	dirty   chan struct{} // pending was empty and is not any more
	full    chan struct{} // enough is pending
	flushed chan struct{} // records have gone to log.db
	stats   stats

	// boltMu is held while log.db is written. The values under it are copies of what the file holds.
	boltMu   sync.Mutex
	arena    arena              // records of the transaction that runs
	batch    []multipaxos.Entry // its entries
	logHigh  int64              // bytes up to the last page in use, as of the transaction before
	logEnd   int64              // size of the file, at least
	first    multipaxos.Slot    // lowest slot that may have an entry on disk
	trimming atomic.Bool        // truncated entries are still on disk
	logged   atomic.Pointer[logMarks]
	identity atomic.Pointer[identityRecord]
	start    atomic.Pointer[startRecord]
	disk     diskRecord

	foldMu   sync.Mutex // held by Fold; taken last
	folded   atomic.Pointer[foldMarks]
	redoFile *os.File // open once it was needed

	usageMu sync.Mutex
	usage   atomic.Pointer[Usage]

	opened atomic.Bool // Open has ended: what lacks space may wait for it

	reserveMu   sync.Mutex // taken last
	reserveFile *os.File   // nil: there is none
	held        int64      // bytes that it keeps
	promised    int64      // bytes of free space that writes under way count on
}

type failure struct{ err error }

func (s *Store) logPath() string     { return filepath.Join(s.dir, logName) }
func (s *Store) journalPath() string { return filepath.Join(s.dir, journalName) }
func (s *Store) statePath() string   { return filepath.Join(s.dir, stateName) }
func (s *Store) sumsPath() string    { return filepath.Join(s.dir, sumsName) }
func (s *Store) redoPath() string    { return filepath.Join(s.dir, redoName) }

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
	if s.failure.CompareAndSwap(nil, &failure{err}) {
		close(s.ended)
	}
	return s.failed()
}

// Notes are remarks about the directory for the log of the server, found at Open: nothing that stops the node.
func (s *Store) Notes() []string { return s.notes }

// writeLog runs fn in a write transaction of log.db, with next as its marks and one generation more, and makes it
// durable. The caller holds boltMu, or is Open, and publishes next. Any error ends the store.
func (s *Store) writeLog(what string, next *logMarks, fn func(*bolt.Tx) error) error {
	next.Generation++
	return s.write(s.log, s.logPath(), what, func(tx *bolt.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return put(tx.Bucket([]byte(acceptorBucket)), acceptorSeed, marksKey, next)
	})
}

// write runs fn in one write transaction and commits it. bbolt's Update is not used: after a panic it would read the
// damaged file once more, on a goroutine where a second panic ends the process without a word.
func (s *Store) write(db *bolt.DB, path, what string, fn func(*bolt.Tx) error) error {
	err := guard(path, func() error {
		begun := false
		defer func() {
			if !begun && db == s.state {
				s.wedged.Store(true)
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
		return s.fail(err)
	case errors.Is(err, errBadRecord), errors.Is(err, errBadPage):
		return s.fail(damage(path, "%s: %w", what, err))
	}
	return s.fail(fmt.Errorf("%s: %s: %w", path, what, err))
}

// Interrupt ends a Fold that waits for space, and every later one, with ErrInterrupted; a part that is being written is
// written first. The store goes on: commits, views and Close work as before, and the next Open makes the rest of the fold.
// Safe for concurrent use, and more than once.
func (s *Store) Interrupt() { s.interrupt.Do(func() { close(s.interrupted) }) }

// Close ends the store and frees its lock. Open views must be closed before, or it waits for them. Nothing needs to
// be written: what Commit and Fold returned from is durable. It moves what is pending to log.db all the same, so that
// the next start finds an empty journal. It may be called more than once.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		whole := s.failed() == nil
		s.fail(fmt.Errorf("%w: %s", ErrClosed, s.dir))
		close(s.closing)
		s.work.Wait()
		s.commitMu.Lock() // a Commit that runs ends first
		defer s.commitMu.Unlock()
		s.boltMu.Lock()
		defer s.boltMu.Unlock()
		if whole {
			s.moveHome(nil) // if that fails, the journal has it still
		}
		s.foldMu.Lock() // the part of a fold that runs ends first; Open makes the rest
		defer s.foldMu.Unlock()
		err = s.release()
	})
	return err
}

// release closes whatever is open, the lock last.
func (s *Store) release() error {
	var errs []error
	if s.state != nil && !s.wedged.Load() {
		errs = append(errs, s.state.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.journalSync != nil {
		s.journalSync.Close()
	}
	if s.checked != nil && s.checked.side != nil {
		errs = append(errs, s.checked.side.file.Close())
	}
	for _, f := range []*os.File{s.reserveFile, s.redoFile, s.stateFile, s.journalFile, s.logFile, s.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
