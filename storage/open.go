package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/space"
	"tenure/storage/internal/state"
)

// Open opens the store in dir, creating both if there is nothing yet, and holds dir's lock until Close. It reads all of
// log.db, and state.db as far as Options.VerifyBytes says, before bbolt maps them; damage is an error wrapping
// ErrDamaged. What the journal has stays there, unless a commit was cut off behind it. A new store
// draws a random store id, which is durable when Open returns. If Options.Check refuses a store, none of its files has
// been changed but the reserve.
func Open(dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := prepare(dir, o); err != nil {
		return nil, err
	}
	if err := plainFiles(disk.Files{Dir: dir}); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	if err := refuseDiffers(disk.Files{Dir: dir}); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := newStore(dir, o.withDefaults(), lock)
	if err := s.open(); err != nil {
		s.release(state.ViewsFor)
		return nil, err
	}
	if o.Offline {
		return s, nil
	}
	s.state.Start()
	s.work.Go(func() {
		s.log.RunGrower(s.closing, func() (Usage, error) {
			err := s.Refresh()
			return s.Usage(), err
		})
	})
	s.work.Go(func() { s.log.RunFlusher(s.closing) })
	return s, nil
}

// prepare makes sure that there is a directory to open.
func prepare(dir string, o Options) error {
	if err := checkOwner(dir); err != nil {
		return err
	}
	if !o.Offline {
		if err := space.CheckSize(dir, o.ReserveBytes); err != nil {
			return err
		}
		return prepareDir(dir)
	}
	ok, err := disk.Exists(filepath.Join(dir, disk.LogName))
	if err == nil && !ok {
		err = disk.Unusable("%s holds no store: it has no file %s", dir, disk.LogName)
	}
	return err
}

// newStore returns a store whose parts share a failure and are handed each other; nothing is open yet.
func newStore(dir string, o Options, lock *os.File) *Store {
	s := &Store{failure: disk.NewFailure(), files: disk.Files{Dir: dir}, options: o, lock: lock,
		closing: make(chan struct{})}
	s.space = space.NewAccount(s.failure, s.files, o.QuotaBytes, o.ReserveBytes)
	s.log = acceptor.New(s.failure, s.files, o.log(), &s.space.Reserve)
	s.Node = Node{failure: s.failure, files: s.files, log: s.log}
	s.state = state.New(s.failure, s.files, o.state(), s.space)
	return s
}

func (s *Store) open() error {
	fresh, err := s.isNew()
	if err != nil {
		return err
	}
	if fresh {
		if err := s.create(); err != nil {
			return err
		}
	} else if err := disk.SyncDir(s.files.Dir); err != nil { // a process may have died between the rename and its sync
		return disk.CannotSync(s.files.Dir, err)
	}
	if !s.options.Offline {
		s.note(s.space.Reserve.Open())
	}
	if err := s.openLog(); err != nil {
		return err
	}
	if err := s.log.OpenJournal(s.identity.Load().Store); err != nil {
		return err
	}
	if err := s.installReceived(); err != nil {
		return err
	}
	if err := s.state.Open(s.identity.Load().Store, s.log.Durable()); err != nil {
		return err
	}
	if s.options.Offline {
		return nil
	}
	if err := s.Refresh(); err != nil {
		return err
	}
	if err := s.checkSpace(); err != nil {
		return err
	}
	if err := s.state.ShapeRedo(); err != nil {
		return err
	}
	return s.log.Settle()
}

// isNew reports whether a store has to be created. log.db comes to its name last, complete, by a rename; so one file
// without the other is a loss, and no crash.
func (s *Store) isNew() (bool, error) {
	have := map[string]bool{}
	for _, name := range []string{disk.LogName, disk.StateName, disk.JournalName, newLogName} {
		there, err := disk.Exists(filepath.Join(s.files.Dir, name))
		if err != nil {
			return false, err
		}
		have[name] = there
	}
	haveLog, haveState, unfinished := have[disk.LogName], have[disk.StateName], have[newLogName]
	switch {
	case haveLog && haveState:
		return false, nil
	case haveLog:
		return false, disk.Damaged(s.files.StatePath(), "the file is missing beside %s", disk.LogName)
	case haveState && !unfinished:
		return false, disk.Damaged(s.files.LogPath(), "the file is missing beside %s", disk.StateName)
	case have[disk.JournalName] && !unfinished:
		return false, disk.Damaged(s.files.LogPath(), "the file is missing beside %s", disk.JournalName)
	}
	return true, nil
}

// openLog reads log.db, then has bbolt open it.
func (s *Store) openLog() error {
	var node nodeContent
	c, err := s.log.Read(node.records())
	if err != nil {
		return err
	}
	if err := node.check(); err != nil {
		return disk.Damaged(s.files.LogPath(), "%w", err)
	}
	if check := s.options.Check; check != nil {
		if err := check(node.identity.public()); err != nil {
			return err
		}
	}
	if err := signLock(s.lock); err != nil {
		return err
	}
	if err := pages.Settle(s.log.File()); err != nil { // what was read is not acted upon before it is durable
		return err
	}
	is, err := locate(s.log.File())
	if err != nil {
		return disk.CannotStat(s.files.LogPath(), err)
	}
	copied := refuseCopy(s.files.Dir, node.disk, is)
	if s.options.Offline {
		s.load(&node)
		return s.log.Open(c)
	}
	accept, err := disk.Exists(filepath.Join(s.files.Dir, acceptedName))
	if err != nil {
		return err
	}
	if copied != nil && !accept {
		return copied
	}
	if node.disk.Machine != is.Machine {
		s.note(fmt.Sprintf("%s was last written on machine %q, this is %q", s.files.LogPath(), node.disk.Machine, is.Machine))
	}
	s.load(&node)
	if err := s.log.Open(c); err != nil {
		return err
	}
	if !accept {
		return nil
	}
	note, err := s.acceptCopy(is)
	s.note(note)
	return err
}

// note adds a remark to Notes, unless it is empty.
func (s *Store) note(remark string) {
	if remark != "" {
		s.notes = append(s.notes, remark)
	}
}
