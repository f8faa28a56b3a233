package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/ident"
	"tenure/internal/oslimit"
	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
)

// ErrNoSpace: there is no space for a snapshot. The store was not touched.
var ErrNoSpace = errors.New("no space for a snapshot")

// Receiver builds the state database of a snapshot beside the one that the store has, and takes no part in it: no error
// of it ends the store. It holds about Options.CheckpointPartBytes in memory, several times over, and the largest
// record. Used by one goroutine at a time; Finish or Abort must come before the store is closed.
type Receiver struct {
	state  *DB
	owner  ident.StoreID
	stream *SnapshotStream
	db     *bolt.DB
	file   *os.File
	wedged atomic.Bool // bbolt has panicked in Begin: the file cannot be closed
	sums   pages.Sums

	batch     []receivedRecord
	batchSize int64
	err       error // the first one that is not ErrBadPiece: the receiver is of no use any more
}

// receivedRecord is a record as it goes into state.db.
type receivedRecord struct {
	kind        kv.RecordKind
	key, record []byte
}

// Receive begins to receive the snapshot of stream, of which nothing was added yet, for the store owner.
func (s *DB) Receive(stream *SnapshotStream, owner ident.StoreID) (*Receiver, error) {
	if !s.receiving.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%w: another snapshot is being received", disk.ErrRefused)
	}
	r := &Receiver{state: s, owner: owner, stream: stream}
	if err := r.begin(); err != nil {
		return nil, errors.Join(err, r.Abort())
	}
	return r, nil
}

// begin makes the new state database.
func (r *Receiver) begin() error {
	s := r.state
	if err := r.checkSpace(r.stream.header.Bytes+r.stream.header.Bytes/8, s.room.space.Usage().ReserveBytes); err != nil {
		return err
	}
	if err := dropReceived(s.files); err != nil {
		return err
	}
	f, err := oslimit.OpenFile(s.files.ReceivingPath(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return r.cannot(err)
	}
	r.file = f
	o := boltOptions
	o.NoSync = true // dataSync follows each part: with its own it would be two
	if r.db, err = disk.OpenBolt(s.files.ReceivingPath(), s.options.MapBytes, o); err != nil {
		return err
	}
	if err := r.sums.Follow(r.db); err != nil {
		return disk.Unusable("cannot write %s: %w", s.files.ReceivingPath(), err)
	}
	return r.write(func(tx *bolt.Tx) error { return firstRecords(tx, r.owner) })
}

// write runs fn in a transaction of the new state database, and makes it durable.
func (r *Receiver) write(fn func(*bolt.Tx) error) error {
	err := disk.Transact(r.db, r.state.files.ReceivingPath(), &r.wedged, fn)
	if err == nil {
		err = disk.DataSync(r.file)
	}
	if err != nil {
		return r.cannot(err)
	}
	disk.ForgetPages(r.db, r.file)
	return nil
}

func (r *Receiver) cannot(err error) error {
	return fmt.Errorf("%s: receive the snapshot through slot %d: %w", r.state.files.ReceivingPath(), r.stream.header.Slot,
		disk.Plain(err))
}

// checkSpace returns an error unless the file system has need bytes and reserve besides.
func (r *Receiver) checkSpace(need, reserve int64) error {
	s := r.state
	unused, err := s.room.space.Reserve.Unused()
	if err != nil {
		return disk.Unusable("%w", err)
	}
	if unused-need < reserve {
		return fmt.Errorf("%w: %s has %d bytes free and it takes %d and a reserve of %d; make space on its file system",
			ErrNoSpace, s.files.Dir, unused, need, reserve)
	}
	return nil
}

// Offset returns how much of the stream was taken: where the next piece must begin.
func (r *Receiver) Offset() uint64 { return r.stream.offset }

// Records returns how many records were taken.
func (r *Receiver) Records() uint64 { return r.stream.records.Count }

// Add takes the next piece. After ErrBadPiece it may be asked for again; after any other error only Abort is left. It
// writes and syncs when enough has come together.
func (r *Receiver) Add(piece []byte) error {
	if r.err != nil {
		return r.err
	}
	part, err := r.stream.open(piece)
	if err != nil {
		return err
	}
	if err := r.stream.each(part, r.apply); err != nil && r.err == nil {
		r.err = r.cannot(err)
	}
	return r.err
}

// apply writes the next record.
func (r *Receiver) apply(c *kv.Change, record []byte) error {
	b := slices.Concat(c.Key, record)
	key := b[:len(c.Key):len(c.Key)]
	r.batch = append(r.batch, receivedRecord{kind: c.Kind, key: key, record: b[len(key):]})
	r.batchSize += int64(len(b))
	if r.batchSize >= r.state.options.PartBytes {
		r.err = r.flush()
	}
	return r.err
}

// flush writes what has come together.
func (r *Receiver) flush() error {
	if err := r.checkSpace(2*r.batchSize, r.state.room.space.Usage().ReserveBytes/2); err != nil {
		return err
	}
	err := r.write(func(tx *bolt.Tx) error {
		var bucket *bolt.Bucket
		var kind kv.RecordKind
		for i := range r.batch {
			b := &r.batch[i]
			if bucket == nil || kind != b.kind {
				var err error
				if bucket, err = tx.CreateBucketIfNotExists(bucketNames[b.kind]); err != nil {
					return err
				}
				kind, bucket.FillPercent = b.kind, receivedFill
			}
			if err := bucket.Put(b.key, b.record); err != nil {
				return err
			}
		}
		return nil
	})
	clear(r.batch)
	r.batch, r.batchSize = r.batch[:0], 0
	return err
}

// receivedFill is how full pages are that are written in order: not whole, since changes in their middle will come.
const receivedFill = 0.9

// Finish compares the records taken with the header, and makes the snapshot durable. The next Open of the directory
// puts it in the place of the state database, if the snapshot is still ahead. The receiver is done with, whatever
// Finish returns.
func (r *Receiver) Finish() error {
	err := r.err
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		return errors.Join(err, r.Abort())
	}
	r.state.receiving.Store(false)
	return nil
}

func (r *Receiver) finish() error {
	if err := r.stream.End(); err != nil {
		return r.cannot(err)
	}
	if err := r.flush(); err != nil {
		return err
	}
	h := &r.stream.header
	marks := &Marks{Slot: h.Slot, Meta: h.Meta, Records: h.Records, Membership: h.Membership}
	err := r.write(func(tx *bolt.Tx) error {
		return checkpointSeed.Put(tx.Bucket([]byte(checkpointBucket)), checkpointKey, marks)
	})
	if err != nil {
		return err
	}
	if err := r.writeSums(); err != nil {
		return r.cannot(err)
	}
	return r.complete()
}

// writeSums writes the checksums of the pages, durably.
func (r *Receiver) writeSums() error {
	size, err := disk.Size(r.file)
	if err != nil {
		return err
	}
	m, err := pages.NewestMeta(r.file, size)
	if err != nil {
		return err
	}
	return r.sums.WriteFile(r.state.files.ReceivedSumsPath(), &m)
}

// complete syncs the file and gives it the name by which Open knows it.
func (r *Receiver) complete() error {
	s := r.state
	err := r.file.Sync()
	if closed := r.close(); err == nil {
		err = closed
	}
	if err == nil {
		err = disk.SyncDir(s.files.Dir) // the checksums must not come after the name
	}
	if err == nil {
		err = os.Rename(s.files.ReceivingPath(), s.files.ReceivedPath())
	}
	if err == nil {
		err = disk.SyncDir(s.files.Dir)
	}
	if err != nil {
		return r.cannot(err)
	}
	return nil
}

// close closes the file.
func (r *Receiver) close() error {
	var err error
	if r.db != nil && !r.wedged.Load() {
		err = r.db.Close()
	}
	err = errors.Join(err, disk.CloseFiles(r.file))
	r.db, r.file = nil, nil
	return err
}

// Abort drops what was received.
func (r *Receiver) Abort() error {
	if r.err == nil {
		r.err = fmt.Errorf("%w: the snapshot was given up", disk.ErrRefused)
	}
	err := errors.Join(r.close(), dropReceived(r.state.files))
	r.state.receiving.Store(false)
	return err
}

// dropReceived removes the files of a snapshot that is not installed, first the file that counts.
func dropReceived(f disk.Files) error {
	for _, path := range []string{f.ReceivedPath(), f.ReceivingPath(), f.ReceivedSumsPath()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return disk.Unusable("cannot remove %s: %w; remove it yourself", path, disk.Plain(err))
		}
	}
	return nil
}
