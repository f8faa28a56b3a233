package storage

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/space"
	"tenure/storage/internal/state"
)

// Store is an open data directory. See the package comment for what may be called at the same time. Its parts share its
// failure and its paths; none knows the Store.
type Store struct {
	Node

	failure *disk.Failure
	files   disk.Files
	options Options
	lock    *os.File
	notes   []string

	space *space.Account
	log   *acceptor.Log
	state *state.DB

	installed multipaxos.Slot // of the snapshot that Open put in the place of the state database

	closing chan struct{}
	closed  sync.Once
	work    sync.WaitGroup
}

// Notes returns remarks about the directory for the log of the server, found at Open: nothing that stops the node.
func (s *Store) Notes() []string { return s.notes }

// Interrupt ends a Checkpoint that waits for space, and every later one, with ErrInterrupted; a part that is being
// written is written first. The store goes on: commits, views and Close work as before, and the next Open makes the
// rest of the checkpoint. Safe for concurrent use, and more than once.
func (s *Store) Interrupt() { s.state.Interrupt() }

// Close ends the store and frees its lock. Open views must be closed before, or it waits for them, for ten seconds, and
// returns an error. Nothing needs to be written: finished Commits and Checkpoints are durable. Close moves pending
// records to log.db all the same, so that the next start finds an empty journal. It may be called more than once.
func (s *Store) Close() error { return s.close(state.ViewsFor) }

func (s *Store) close(wait time.Duration) error {
	var err error
	s.closed.Do(func() {
		whole := s.failure.Err() == nil
		s.failure.Fail(fmt.Errorf("%w: %s", ErrClosed, s.files.Dir))
		close(s.closing)
		s.work.Wait()
		s.log.Stop(whole && !s.options.Offline)
		err = s.release(wait)
	})
	return err
}

// release closes whatever is open, the lock last. It waits so long for open views.
func (s *Store) release(wait time.Duration) error {
	return errors.Join(s.state.Close(wait), s.log.Close(), s.space.Reserve.Close(), disk.CloseFiles(s.lock))
}
