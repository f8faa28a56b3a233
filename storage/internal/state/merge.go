package state

import (
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/sealed"
)

// mergeParts merges rest, the next changes of plan, part by part, and has one part of them in memory. The redo file is
// durable.
func (s *DB) mergeParts(plan *Plan, rest iter.Seq[kv.Change]) error {
	var b batch
	for c := range rest {
		if b.add(c); !b.full(s.options.PartBytes) {
			continue
		}
		if err := s.mergePart(plan, &b); err != nil {
			return err
		}
	}
	for len(b.changes) > 0 {
		if err := s.mergePart(plan, &b); err != nil {
			return err
		}
	}
	return nil
}

// mergePart merges the next part, of changes in b, and drops them there.
func (s *DB) mergePart(plan *Plan, b *batch) error {
	for {
		if err := s.failure.Err(); err != nil { // closed, for one: Open makes the rest
			return err
		}
		p := s.room.nextPart(b.changes)
		promised, err := s.room.awaitPart(p)
		if errors.Is(err, errShortNow) {
			continue
		}
		if err != nil {
			return err
		}
		next := s.checkpointed.Load().progress(plan, p.n)
		err = s.merge(b.changes[:p.n], &next)
		s.room.space.Reserve.Fulfilled(promised)
		if err != nil {
			return err
		}
		plan.Done += uint64(p.n)
		b.drop(p.n)
		return nil
	}
}

// progress returns the marks after n more changes of plan: in the middle of it those of the checkpoint before, with the
// plan, and after the last those of the new one.
func (m *Marks) progress(plan *Plan, n int) Marks {
	next := Marks{Slot: m.Slot, Meta: m.Meta, Plan: *plan}
	if next.Plan.Done += uint64(n); next.Plan.Done == plan.Changes.Count {
		return Marks{Slot: plan.Slot, Meta: plan.Meta}
	}
	return next
}

// merge fills in the digest of next, makes changes and next durable in one transaction, and publishes next. The caller
// holds mu, or is Open.
func (s *DB) merge(changes []kv.Change, next *Marks) error {
	last := s.checkpointed.Load()
	c := s.checked
	if _, err := c.CheckMeta(); err != nil {
		return s.failure.Fail(disk.Damaged(s.files.StatePath(), "%w", err))
	}
	what := fmt.Sprintf("checkpoint after slot %d", last.Slot)
	err := s.failure.Write(s.db, s.path, what, &s.wedged, func(tx *bolt.Tx) error {
		if err := c.Begin(tx); err != nil {
			return err
		}
		w := newMerger(tx, c, last.Records, &s.recount)
		for i := range changes {
			if err := w.apply(&changes[i]); err != nil {
				return err
			}
		}
		next.Records = w.digest
		if err := w.enter([]byte(checkpointBucket)); err != nil {
			return err
		}
		if _, err := w.find(checkpointKey, false); err != nil {
			return err
		}
		return checkpointSeed.Put(w.bucket, checkpointKey, next)
	})
	c.End()
	if err != nil {
		return err
	}
	s.checkpointed.Store(next)
	disk.ForgetPages(s.db, s.file)
	return nil
}

// merger applies changes in one transaction and keeps the digest of all records. It reads the old records itself,
// on pages that pass their checksums. Only then does bbolt read these pages.
type merger struct {
	tx      *bolt.Tx
	digest  sealed.Digest
	recount *recount     // follows the digest for what it has read already
	name    string       // of the bucket
	bucket  *bolt.Bucket // the current one
	root    pages.Bucket // of what it held before the transaction
	buckets pages.Cursor
	cursor  pages.Cursor
	arena   sealed.Arena
}

func newMerger(tx *bolt.Tx, c *pages.File, d sealed.Digest, r *recount) *merger {
	w := &merger{tx: tx, digest: d, recount: r}
	w.buckets.ResetToWrite(c)
	w.cursor.ResetToWrite(c)
	return w
}

func (w *merger) apply(c *kv.Change) error {
	if err := w.enter(bucketNames[c.Kind]); err != nil {
		return err
	}
	seed := bucketSeeds[c.Kind]
	old, err := w.find(c.Key, c.Value == nil)
	if err != nil {
		return err
	}
	if old != nil {
		if _, err := seed.Open(c.Key, old); err != nil {
			return fmt.Errorf("%w: the record of key %q %w", disk.ErrBadRecord, c.Key, err)
		}
		w.digest.Remove(old)
		if w.recount.covers(c) {
			w.recount.found.Remove(old)
		}
		if c.Value == nil {
			return w.bucket.Delete(c.Key)
		}
	}
	if c.Value == nil {
		return nil
	}
	record := seed.Seal(w.arena.Alloc(len(c.Value)+sealed.SumBytes), c.Key, c.Value)
	w.digest.Add(record)
	if w.recount.covers(c) {
		w.recount.found.Add(record)
	}
	return w.bucket.Put(c.Key, record)
}

// enter makes a bucket the current one.
func (w *merger) enter(name []byte) (err error) {
	if w.bucket != nil && w.name == string(name) {
		return nil
	}
	w.name = string(name)
	if w.root, err = w.buckets.FindBucket(name); err != nil {
		return fmt.Errorf("%w: %w", disk.ErrChanged, err)
	}
	w.bucket, err = w.tx.CreateBucketIfNotExists(name)
	return err
}

// find returns the record that key had before the transaction, or nil. Where key is deleted, it also checks the pages
// that bbolt may join with those on the way.
func (w *merger) find(key []byte, deleted bool) ([]byte, error) {
	if !w.root.Found {
		return nil, nil
	}
	record, err := w.cursor.Find(&w.root, key)
	if err == nil && deleted && record != nil {
		err = w.cursor.CheckSiblings()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", disk.ErrChanged, err)
	}
	return record, nil
}
