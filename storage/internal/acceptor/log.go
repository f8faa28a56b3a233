package acceptor

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/oslimit"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/sealed"
	"tenure/storage/internal/space"
	"tenure/storage/journal"
)

// Log is the acceptor's log: the journal, what it holds and log.db does not, and log.db itself.
type Log struct {
	failure  *disk.Failure
	files    disk.Files
	options  Options
	reserve  *space.Reserve
	counters counters

	db          *bolt.DB
	file        *os.File // log.db, for sizes and for filling with zeros
	journalFile *os.File
	journalSync *syncer

	// commitMu is held by Commit. It guards the next two fields, which write the journal. It is taken before mu.
	commitMu sync.Mutex
	ring     *journal.Ring
	record   journal.Record // of the commit that runs

	// pending is where the journal holds what log.db does not have; flush.go moves it.
	pending pending
	unnoted atomic.Bool   // dirty was woken, and log.db knows no more since
	dirty   chan struct{} // something was committed that log.db knows nothing of
	full    chan struct{} // the ring needs place
	flushed chan struct{} // records have gone to log.db
	grow    chan struct{} // asks for more zeros behind the log

	// mu is held while log.db is written. The values under it are copies of what the file holds.
	mu       sync.Mutex
	arena    sealed.Arena    // records of the transaction that runs
	located  []located       // its entries
	logHigh  int64           // bytes up to the last page in use, as of the transaction before
	solid    int64           // bytes from the beginning of the file that have blocks, at least
	first    multipaxos.Slot // lowest slot that may have an entry on disk
	edited   *slotSums       // of the entries, with the transaction that runs
	trimming atomic.Bool     // truncated entries are still on disk
	logged   atomic.Pointer[Marks]
}

// Options are those of package storage that are about the log. None has a default here.
type Options struct {
	InitialBytes int64
	GrowBytes    int64
	JournalBytes int64
	FlushBytes   int64
	NoteAfter    time.Duration
	MapBytes     int64
}

// New returns a log of which nothing is open yet. What it lacks in space it takes from reserve.
func New(failure *disk.Failure, files disk.Files, o Options, reserve *space.Reserve) *Log {
	wish := func() chan struct{} { return make(chan struct{}, 1) }
	return &Log{
		failure: failure, files: files, options: o, reserve: reserve,
		grow: wish(), dirty: wish(), full: wish(), flushed: wish(),
	}
}

// Read opens and reads log.db. The records of the node are decoded into the values of node. It changes nothing.
func (s *Log) Read(node []NodeRecord) (*Content, error) {
	f, err := oslimit.OpenFile(s.files.LogPath(), os.O_RDWR, 0)
	if err != nil {
		return nil, disk.CannotOpen(s.files.LogPath(), err)
	}
	s.file = f
	size, err := disk.Size(f)
	if err != nil {
		return nil, err
	}
	disk.WillRead(f)
	c, err := ReadContent(f, size, node)
	if err != nil {
		return nil, disk.Damaged(s.files.LogPath(), "%w", err)
	}
	return c, nil
}

// Open makes bbolt open log.db. Its content c was read and is durable.
func (s *Log) Open(c *Content) (err error) {
	_ = fillHoles(s.file) // a store of an earlier version has some; with no space left now they stay
	s.first = c.First
	s.trimming.Store(c.First != 0 && c.First <= c.Marks.Truncated)
	s.logged.Store(&c.Marks)
	s.pending.start(c)
	if s.db, err = disk.OpenBolt(s.files.LogPath(), s.options.MapBytes, boltOptions); err != nil {
		return err
	}
	s.db.AllocSize = int(min(s.options.GrowBytes, 1<<30)) // for when the log outruns the grower
	if s.solid, err = s.solidBytes(); err != nil {
		return err
	}
	return pages.Intercept(s.db, func(write pages.WriteAt) pages.WriteAt {
		return func(b []byte, off int64) (int, error) { return s.writePages(write, b, off) }
	})
}

// write runs fn in a write transaction of log.db, with next as its marks and one generation more, and makes it
// durable. The caller holds mu, or is Open, and publishes next. Any error ends the store.
func (s *Log) write(what string, next *Marks, fn func(*bolt.Tx) error) error {
	next.Generation++
	next.Seen = s.pending.last()
	was := s.pending.home // changed under mu only
	s.edited = was.sums
	err := s.failure.Write(s.db, s.files.LogPath(), what, nil, func(tx *bolt.Tx) error {
		if uint64(tx.ID()) != was.txid+1 { // bbolt takes the older of two meta pages if the newer one is damaged
			return fmt.Errorf("%w: the meta page of transaction %d", disk.ErrChanged, was.txid)
		}
		if err := fn(tx); err != nil {
			return err
		}
		s.pending.announce(homeSums{was.txid + 1, s.edited})
		return acceptorSeed.Put(tx.Bucket([]byte(acceptorBucket)), marksKey, next)
	})
	if err == nil {
		s.pending.arrived()
	}
	return err
}

// Measure looks at log.db.
func (s *Log) Measure() (space.Measures, error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return space.Measures{}, fmt.Errorf("%s: open a view: %w", s.files.LogPath(), err)
	}
	defer tx.Rollback()
	return space.Measure(s.db, tx, s.file)
}

// Stop ends the log of a store that has ended: a commit that runs ends first. If note is set, log.db is told how far
// the journal is; if that fails, the journal has all still.
func (s *Log) Stop(note bool) {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if note {
		s.move(0, nil)
	}
}

// Close closes the files of the log. Nothing else may run.
func (s *Log) Close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	if s.journalSync != nil {
		s.journalSync.Close()
	}
	return errors.Join(err, disk.CloseFiles(s.journalFile, s.file))
}

// counters counts what Stats tells.
type counters struct{ syncs, waits, flushes, entries, replayed, cutOff atomic.Uint64 }

// Stats are counts since Open, and what is pending now.
type Stats struct {
	JournalSyncs   uint64 // commits that went through the journal
	JournalWaits   uint64 // times that one of them waited for space in it
	Flushes        uint64 // transactions that moved records to log.db, or a commit too large for the journal
	FlushedEntries uint64 // entries written by them
	Replayed       uint64 // records that OpenJournal found in the journal and not in log.db
	CutOff         bool   // OpenJournal found a record behind them that was never whole, and dropped it
	PendingBytes   int64  // of the journal that log.db does not have
}

// Stats returns the counts. It is cheap and safe for concurrent use.
func (s *Log) Stats() Stats {
	c := &s.counters
	return Stats{
		JournalSyncs: c.syncs.Load(), JournalWaits: c.waits.Load(), Flushes: c.flushes.Load(),
		FlushedEntries: c.entries.Load(), Replayed: c.replayed.Load(), CutOff: c.cutOff.Load() > 0,
		PendingBytes: s.pending.size(),
	}
}

// Durable returns what the log holds now. It is safe for concurrent use.
func (s *Log) Durable() multipaxos.Durable { return s.pending.durable() }

// PendingBytes returns how many bytes of the journal log.db does not have. It is safe for concurrent use.
func (s *Log) PendingBytes() int64 { return s.pending.size() }

// JournalBytes returns the size of the journal.
func (s *Log) JournalBytes() int64 { return s.ring.Bytes() }

// File returns log.db, for what asks for the file itself. The Log closes it.
func (s *Log) File() *os.File { return s.file }

// boltOptions: the list of free pages is not written with each commit, it is found by a scan when the file is opened.
var boltOptions = bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType, Timeout: time.Second,
	OpenFile: oslimit.OpenFile}
