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
	s := &Store{
		dir: dir, options: o.withDefaults(), lock: lock, ended: make(chan struct{}), closing: make(chan struct{}),
		interrupted: make(chan struct{}),
		grow:        make(chan struct{}, 1), dirty: make(chan struct{}, 1), full: make(chan struct{}, 1), flushed: make(chan struct{}, 1),
	}
	s.usage.Store(&Usage{})
	if err := s.open(); err != nil {
		s.release()
		return nil, err
	}
	s.opened.Store(true)
	s.work.Add(2)
	go s.grower()
	go s.flusher()
	return s, nil
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
	s.openReserve()
	if err := s.openLog(); err != nil {
		return err
	}
	if err := s.openJournal(); err != nil {
		return err
	}
	if err := s.openState(); err != nil {
		return err
	}
	if err := s.Refresh(); err != nil {
		return err
	}
	if err := s.checkRoom(); err != nil {
		return err
	}
	if err := s.shapeRedo(); err != nil {
		return err
	}
	return s.moveHome(nil)
}

// isNew tells whether a store has to be created. log.db comes to its name last, complete, by a rename; so one file
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
	f, err := os.OpenFile(s.logPath(), os.O_RDWR, 0)
	if err != nil {
		return unusable("cannot open %s: %w; make it readable and writable for user %d", s.logPath(), plain(err), os.Getuid())
	}
	s.logFile = f
	size, err := fileSize(f)
	if err != nil {
		return err
	}
	willRead(f)
	c, err := readLog(f, size)
	if err != nil {
		return damage(s.logPath(), "%w", err)
	}
	if check := s.options.Check; check != nil {
		if err := check(c.identity.public()); err != nil {
			return err
		}
	}
	if err := signLock(s.lock); err != nil {
		return err
	}
	if err := settle(f); err != nil { // what was read is not acted upon before it is durable
		return err
	}
	_ = fillHoles(f) // a store of an earlier version has some; with no space left now they stay
	s.first, s.disk = c.first, c.disk
	s.trimming.Store(c.first != 0 && c.first <= c.marks.Truncated)
	s.identity.Store(&c.identity)
	s.start.Store(&c.start)
	s.logged.Store(&c.marks)
	s.pending.start(&c.marks)
	is, err := whereabouts(f)
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
		s.notes = append(s.notes, fmt.Sprintf("%s was last written on machine %q, this is %q", s.logPath(), c.disk.Machine, is.Machine))
	}
	if s.log, err = openBolt(s.logPath(), s.options.MapBytes, logBolt); err != nil {
		return err
	}
	s.log.AllocSize = int(min(s.options.LogGrowBytes, 1<<30)) // for when the log outruns the grower
	if !accept {
		return nil
	}
	return s.acceptCopy(is)
}

// acceptCopy records a new place because an operator asked for it, and takes the request away.
func (s *Store) acceptCopy(is diskRecord) error {
	s.disk = is
	if err := s.putNode("record the new place of the directory", diskKey, &s.disk); err != nil {
		return err
	}
	path := filepath.Join(s.dir, acceptedName)
	if err := os.Remove(path); err != nil {
		return unusable("cannot remove %s: %w; remove it yourself", path, plain(err))
	}
	s.notes = append(s.notes, fmt.Sprintf("%s asked for it: this directory is now taken for the original", path))
	return nil
}

// openState reads state.db, compares it with the log, then has bbolt open it, and ends a fold that was cut off.
func (s *Store) openState() error {
	f, err := os.OpenFile(s.statePath(), os.O_RDWR, 0)
	if err != nil {
		return unusable("cannot open %s: %w; make it readable and writable for user %d", s.statePath(), plain(err), os.Getuid())
	}
	s.stateFile = f
	if err := settle(f); err != nil {
		return err
	}
	size, err := fileSize(f)
	if err != nil {
		return err
	}
	m, err := newestMeta(f, size)
	if err != nil {
		return damage(s.statePath(), "%w", err)
	}
	c, err := s.readImage(&m, size)
	if err != nil {
		return err
	}
	if err := s.belongTogether(c); err != nil {
		return err
	}
	s.folded.Store(&c.marks)
	if s.state, err = openBolt(s.statePath(), s.options.MapBytes, stateBolt); err != nil {
		return err
	}
	if err := interceptWrites(s.state, s.checked.wrote); err != nil {
		return unusable("cannot open %s: %w", s.statePath(), err)
	}
	return s.resumeFold()
}

// readImage reads state.db with plain calls, compares its pages with their checksums, and notes them if nobody had. A
// file that has its checksums and is larger than Options.VerifyBytes is not read whole.
func (s *Store) readImage(m *metaPage, size int64) (*stateContent, error) {
	side, sums, err := s.loadSums(m)
	if err != nil {
		return nil, err
	}
	c := &checkedFile{path: s.statePath(), file: s.stateFile, pageBytes: m.pageBytes, side: side}
	s.checked = c
	c.writer.free = make(bitmap, m.highWater/64+1)
	w := walker{r: s.stateFile, meta: *m, skeleton: sums != nil && size > s.options.VerifyBytes, free: c.writer.free.set}
	if sums != nil {
		c.sums.sums.Store(&sums)
		w.check = c.checkRun
	} else {
		w.check = c.noteRun
	}
	if !w.skeleton {
		willRead(s.stateFile)
	}
	content, err := readState(&w)
	if err != nil {
		return nil, s.foreign(m, damage(s.statePath(), "%w", err))
	}
	if err := c.noteMetas(m); err != nil {
		return nil, damage(s.statePath(), "%w", err)
	}
	if side == nil {
		if c.side, err = s.makeSums(&c.sums, m); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// foreign returns why state.db is another node's or of another time if it is whole but not what state.sums says, and else
// err.
func (s *Store) foreign(m *metaPage, err error) error {
	c, unreadable := readState(&walker{r: s.stateFile, meta: *m})
	if unreadable != nil {
		return err
	}
	if other := s.belongTogether(c); other != nil {
		return other
	}
	return err
}

// belongTogether compares the image with the log. The log ends at or behind the image, because only durable slots are
// folded; and it was cut at or before it. So an older copy of either file shows.
func (s *Store) belongTogether(c *stateContent) error {
	id, marks := s.identity.Load(), s.pending.durable()
	through := max(c.marks.Slot, c.marks.Plan.Slot)
	switch {
	case c.owner != id.Store:
		return fmt.Errorf("%w: %s belongs to store %s and %s to store %s; put the files of one node together again",
			ErrOtherNode, s.statePath(), c.owner, logName, id.Store)
	case c.marks.Slot < uint64(marks.Truncated):
		return damage(s.statePath(), "it ends at slot %d and the log starts behind slot %d: it is an older copy", c.marks.Slot, marks.Truncated)
	case through > uint64(marks.Last):
		return damage(s.logPath(), "it and the journal end at slot %d and the state at slot %d: one is an older copy, or synced writes were lost", marks.Last, through)
	}
	return nil
}

// settle makes the last transaction of a bbolt file durable before it is believed. A process that died between writing a
// meta page and its sync leaves a page that the page cache alone may have; what is then built on it, records of the
// journal overwritten first, outlives a loss of power that takes the page back. The meta pages are written once more, as
// they are, because a sync that failed took the dirty marks off them, and no later one would write them. What they lead
// to was synced before they were written.
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
// stateBolt: no scan, the file may be large. The list must find room for itself, in one run of pages, with each fold. The array is used up from the
// file's beginning and leaves such runs; the map breaks them up until the list goes to the file's end each time
// (TestImageFileStopsGrowing; 100,000 keys: 178 MiB of 223 free after 40 minutes of writes, and growing).
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
