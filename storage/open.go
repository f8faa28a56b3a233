package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Open opens the store in dir, creating both if there is nothing yet, and holds dir's lock until Close. It reads all
// of log.db, and state.db as far as Options.VerifyBytes says, before bbolt maps them; damage is an error wrapping
// ErrDamaged. What the journal holds goes to log.db before it returns. A new store draws a random store id, which is
// durable when Open returns. Where Options.Check refuses the store, nothing has been changed.
func Open(dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkSize(dir, o.ReserveBytes); err != nil {
		return nil, err
	}
	if err := prepareDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, o.withDefaults(), lock)
	if err := s.open(); err != nil {
		s.release()
		return nil, err
	}
	s.state.opened.Store(true)
	s.work.Go(s.grower)
	s.work.Go(func() { s.log.flusher(s.closing) })
	return s, nil
}

// newStore returns a store whose parts share its fate and know each other; nothing is open yet.
func newStore(dir string, o Options, lock *os.File) *Store {
	s := &Store{fate: newFate(), files: files{dir}, options: o, lock: lock, closing: make(chan struct{})}
	s.space.reserve.files = s.files
	wish := func() chan struct{} { return make(chan struct{}, 1) }
	s.log = acceptorLog{
		fate: s.fate, files: s.files, options: o, space: &s.space, stats: &s.stats,
		grow: wish(), dirty: wish(), full: wish(), flushed: wish(),
	}
	s.node = nodeRecords{fate: s.fate, files: s.files, log: &s.log}
	s.state = stateDB{
		fate: s.fate, files: s.files, options: o, space: &s.space, stats: &s.stats,
		interrupted: make(chan struct{}), redo: redo{files: s.files},
	}
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
	} else if err := syncDir(s.dir); err != nil { // the rename may be of a process that died before it synced it
		return unusable("cannot sync %s: %w; check the disk", s.dir, plain(err))
	}
	s.note(s.space.reserve.open())
	if err := s.openLog(); err != nil {
		return err
	}
	if err := s.log.openJournal(s.node.identity.Load().Store); err != nil {
		return err
	}
	if err := s.state.open(s.node.identity.Load().Store, s.log.pending.durable()); err != nil {
		return err
	}
	if err := s.Refresh(); err != nil {
		return err
	}
	if err := s.checkSpace(); err != nil {
		return err
	}
	if err := s.state.shapeRedo(); err != nil {
		return err
	}
	return s.log.moveHome(nil)
}

// isNew reports whether a store has to be created. log.db comes to its name last, complete, by a rename; so one file
// without the other is a loss, and no crash.
func (s *Store) isNew() (bool, error) {
	haveLog, err := exists(s.logPath())
	if err != nil {
		return false, err
	}
	haveState, err := exists(s.statePath())
	if err != nil {
		return false, err
	}
	haveJournal, err := exists(s.journalPath())
	if err != nil {
		return false, err
	}
	unfinished, err := exists(filepath.Join(s.dir, newLogName))
	switch {
	case err != nil:
		return false, err
	case haveLog && haveState:
		return false, nil
	case haveLog:
		return false, damage(s.statePath(), "the file is missing beside %s", logName)
	case haveState && !unfinished:
		return false, damage(s.logPath(), "the file is missing beside %s", stateName)
	case haveJournal && !unfinished:
		return false, damage(s.logPath(), "the file is missing beside %s", journalName)
	}
	return true, nil
}

// openLog reads log.db, then has bbolt open it.
func (s *Store) openLog() error {
	c, err := s.log.read()
	if err != nil {
		return err
	}
	if check := s.options.Check; check != nil {
		if err := check(c.identity.public()); err != nil {
			return err
		}
	}
	if err := signLock(s.lock); err != nil {
		return err
	}
	if err := settle(s.log.file); err != nil { // what was read is not acted upon before it is durable
		return err
	}
	is, err := whereabouts(s.log.file)
	if err != nil {
		return unusable("cannot look at %s: %w", s.logPath(), plain(err))
	}
	copied := refuseCopy(s.dir, c.disk, is)
	accept, err := exists(filepath.Join(s.dir, acceptedName))
	if err != nil {
		return err
	}
	if copied != nil && !accept {
		return copied
	}
	if c.disk.Machine != is.Machine {
		s.note(fmt.Sprintf("%s was last written on machine %q, this is %q", s.logPath(), c.disk.Machine, is.Machine))
	}
	s.node.load(c)
	if err := s.log.open(c); err != nil {
		return err
	}
	if !accept {
		return nil
	}
	note, err := s.node.acceptCopy(is)
	s.note(note)
	return err
}

// note adds a remark to Notes, unless it is empty.
func (s *Store) note(remark string) {
	if remark != "" {
		s.notes = append(s.notes, remark)
	}
}

// settle makes the last transaction of a bbolt file durable before it is believed. A process that died between writing
// a meta page and its sync leaves a page that the page cache alone may have; what is then built on it, records of the
// journal overwritten first, outlives a loss of power that takes the page back. The meta pages are written once more,
// as they are, because a sync that failed took the dirty marks off them, and no later one would write them. What they
// lead to was synced before they were written.
func settle(f *os.File) error {
	metas, err := readMetas(f)
	if err != nil {
		return damage(f.Name(), "%w", err)
	}
	buf := make([]byte, pageHeaderBytes+metaBytes)
	for i := range metas {
		at := int64(i) * int64(metas[i].pageBytes)
		if _, err = f.ReadAt(buf, at); err == nil {
			_, err = f.WriteAt(buf, at)
		}
		if err != nil {
			return unusable("cannot write %s: %w; check the disk", f.Name(), plain(err))
		}
	}
	if err := dataSync(f); err != nil {
		return unusable("cannot sync %s: %w; check the disk", f.Name(), plain(err))
	}
	return nil
}

// logBolt: the free list is not written with each commit, it is found by a scan when the file is opened.
// stateBolt: no scan, the file may be large. The list must find space for itself, in one run of pages, with each
// checkpoint. The array is used up from the file's beginning and leaves such runs; the map breaks them up until the
// list goes to the file's end each time (TestStateDBFileStopsGrowing; 100,000 keys: 178 MiB of 223 free after 40
// minutes of writes, and growing).
var (
	logBolt   = bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType, Timeout: time.Second}
	stateBolt = bolt.Options{FreelistType: bolt.FreelistArrayType, Timeout: time.Second}
)

// openBolt maps a file that has been read and found whole. Where address space is short, it maps less.
func openBolt(path string, mapBytes int64, o bolt.Options) (db *bolt.DB, err error) {
	for ; ; mapBytes /= 2 {
		o.InitialMmapSize = int(min(mapBytes, maxMapBytes))
		err = guard(path, func() error {
			db, err = bolt.Open(path, 0o600, &o)
			return err
		})
		if !errors.Is(err, unix.ENOMEM) || mapBytes < 1<<20 {
			break
		}
	}
	if err == nil || errors.Is(err, ErrDamaged) {
		return db, err
	}
	return nil, unusable("cannot open %s: %w; check that nothing else has it open and that the disk works", path, plain(err))
}

// maxMapBytes is what an int and bbolt allow.
const maxMapBytes = min(1<<47, int64(^uint(0)>>1))

func fileSize(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, unusable("cannot look at %s: %w", f.Name(), plain(err))
	}
	return info.Size(), nil
}
