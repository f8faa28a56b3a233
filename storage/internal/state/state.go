package state

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/ident"
	"tenure/internal/oslimit"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/space"
)

// DB is state.db, the state that kv checkpoints, with the checksums of its pages and the redo file.
type DB struct {
	files    disk.Files
	options  Options
	counters counters
	*stateFile
	room room

	receiving atomic.Bool // a Receiver is open

	mu           sync.Mutex // held by Checkpoint; taken last
	checkpointed atomic.Pointer[Marks]
	redo         redo
	recount      recount // guarded by mu
}

// Options are those of package storage that are about the state database. None has a default here.
type Options struct {
	PartBytes        int64
	MapBytes         int64
	VerifyBytes      int64
	FailWithoutSpace bool
}

// New returns a state database of which nothing is open yet. Its space is that of account.
func New(failure *disk.Failure, files disk.Files, o Options, account *space.Account) *DB {
	f := &stateFile{failure: failure, path: files.StatePath()}
	return &DB{
		files: files, options: o, stateFile: f, room: newRoom(f, account, o),
		redo: redo{files: files, reserve: &account.Reserve},
	}
}

// Create makes the state database of the new store owner at path, without any record of kv.
func Create(path string, owner ident.StoreID) error {
	return disk.NewBolt(path, boltOptions, func(tx *bolt.Tx) error { return firstRecords(tx, owner) })
}

func firstRecords(tx *bolt.Tx, owner ident.StoreID) error {
	b, err := tx.CreateBucket([]byte(checkpointBucket))
	if err != nil {
		return err
	}
	return errors.Join(checkpointSeed.Put(b, ownerKey, &owner),
		checkpointSeed.Put(b, checkpointKey, &Marks{}))
}

// Open reads the state.db of the store owner and compares it with what its log holds. Then it has bbolt open the file,
// and completes a checkpoint that was interrupted. It does not wait for space.
func (s *DB) Open(owner ident.StoreID, log multipaxos.Durable) error {
	f, err := oslimit.OpenFile(s.files.StatePath(), os.O_RDWR, 0)
	if err != nil {
		return disk.CannotOpen(s.files.StatePath(), err)
	}
	s.file = f
	if err := pages.Settle(f); err != nil {
		return err
	}
	size, err := disk.Size(f)
	if err != nil {
		return err
	}
	m, err := pages.NewestMeta(f, size)
	if err != nil {
		return disk.Damaged(s.files.StatePath(), "%w", err)
	}
	c, err := s.readChecked(&m, size, owner, log)
	if err != nil {
		return err
	}
	if err := BelongTogether(s.files, c, owner, log); err != nil {
		return err
	}
	s.checkpointed.Store(&c.Marks)
	if s.db, err = disk.OpenBolt(s.files.StatePath(), s.options.MapBytes, boltOptions); err != nil {
		return err
	}
	if err := s.checked.Follow(s.db, s.room.space.Reserve.Insist); err != nil {
		return disk.Unusable("cannot open %s: %w", s.files.StatePath(), err)
	}
	return s.resumeCheckpoint()
}

// readChecked reads state.db with plain calls, compares its pages with their checksums, and notes them if nobody had. A
// file that has its checksums and is larger than Options.VerifyBytes is not read whole.
func (s *DB) readChecked(
	m *pages.Meta, size int64, owner ident.StoreID, log multipaxos.Durable,
) (*Content, error) {
	c, err := pages.Open(s.file, m, s.files.SumsPath(), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	s.checked = c
	w := c.FirstWalker(m)
	w.Skeleton = c.Known() && size > s.options.VerifyBytes
	if !w.Skeleton {
		disk.WillRead(s.file)
	}
	content, err := readContent(w)
	if err != nil {
		return nil, s.foreign(m, owner, log, err)
	}
	if err := c.Complete(m); err != nil {
		return nil, err
	}
	return content, nil
}

// foreign returns why the first reading of state.db failed with found. A file that is not whole is damaged, in the
// place that found names. A whole file is another node's or an older copy, as the log shows, or state.sums is damaged.
func (s *DB) foreign(m *pages.Meta, owner ident.StoreID, log multipaxos.Durable, found error) error {
	c, unreadable := readContent(&pages.Walker{R: s.file, Meta: *m})
	if unreadable != nil {
		return disk.Damaged(s.files.StatePath(), "%w", found)
	}
	if other := BelongTogether(s.files, c, owner, log); other != nil {
		return other
	}
	return disk.Damaged(s.files.SumsPath(), "%s is whole, and these are not the checksums of its pages (%w)",
		disk.StateName, found)
}

// BelongTogether compares the state database with the log. The log ends at or behind the state database, because only
// durable slots are checkpointed; and it was cut at or before it. So an older copy of either file shows.
func BelongTogether(f disk.Files, c *Content, owner ident.StoreID, marks multipaxos.Durable) error {
	through := max(c.Marks.Slot, c.Marks.Plan.Slot)
	switch {
	case c.Owner != owner:
		return fmt.Errorf("%w: %s belongs to store %s and %s to store %s; put the files of one node together again",
			disk.ErrOtherNode, f.StatePath(), c.Owner, disk.LogName, owner)
	case c.Marks.Slot < uint64(marks.Truncated):
		return disk.Damaged(f.StatePath(), "it ends at slot %d and the log starts behind slot %d: it is an older copy",
			c.Marks.Slot, marks.Truncated)
	case through > uint64(marks.Last):
		return disk.Damaged(f.LogPath(), "it and the journal end at slot %d and the state at slot %d: "+
			"one is an older copy, or synced writes were lost", marks.Last, through)
	}
	return nil
}

// ViewsFor is how long close waits for open views. Their readers have been told to end by then.
const ViewsFor = 10 * time.Second

// Close closes state.db and what belongs to it, unless bbolt has panicked in it. If views stay open for longer than
// wait, it returns an error and leaves state.db open: the end of the process must not wait for a view that is never
// closed.
func (s *DB) Close(wait time.Duration) error {
	s.mu.Lock() // the part of a checkpoint that runs ends first; Open makes the rest
	defer s.mu.Unlock()
	return errors.Join(s.stateFile.close(wait), disk.CloseFiles(s.redo.file))
}

// Start says that the store is open: from now on, what lacks space waits for it.
func (s *DB) Start() { s.room.opened.Store(true) }

// Interrupt ends a checkpoint that waits for space, and every later one, with ErrInterrupted.
func (s *DB) Interrupt() { s.room.interrupt.Do(func() { close(s.room.interrupted) }) }

// Loaded returns the slot and meta record of the newest checkpoint.
func (s *DB) Loaded() (uint64, []byte, error) {
	if err := s.failure.Err(); err != nil {
		return 0, nil, err
	}
	m := s.checkpointed.Load()
	return m.Slot, m.Meta, nil
}

// Checkpointed returns the slot of the newest checkpoint.
func (s *DB) Checkpointed() multipaxos.Slot { return multipaxos.Slot(s.checkpointed.Load().Slot) }

// Records returns how many records the newest checkpoint has, and their digest.
func (s *DB) Records() (count, digest uint64) {
	r := s.checkpointed.Load().Records
	return r.Count, r.Sum
}

// Digest returns the slot of the newest checkpoint and a digest of the whole state at that slot.
func (s *DB) Digest() (slot, digest uint64) { return s.checkpointed.Load().digest() }

// counters counts what Stats tells.
type counters struct{ resumed, scrubbed, recounts, given atomic.Uint64 }

// Stats are counts since Open.
type Stats struct {
	Resumed       uint64 // checkpoints that a crash had cut off between two parts, and of which Open made the rest
	ScrubbedPages uint64 // pages of state.db that Scrub has passed
	Recounts      uint64 // times that Recount has found the digest to be that of the records
	GivenBack     uint64 // bytes of state.db that GiveBack has given back to the file system
}

// Stats returns the counts. It is cheap and safe for concurrent use.
func (s *DB) Stats() Stats {
	c := &s.counters
	return Stats{Resumed: c.resumed.Load(), ScrubbedPages: c.scrubbed.Load(), Recounts: c.recounts.Load(),
		GivenBack: c.given.Load()}
}
