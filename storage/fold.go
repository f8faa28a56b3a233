package storage

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"tenure/kv"
	"tenure/multipaxos"
)

// Fold merges f into the image: changes, slot, meta record and digest in one transaction, durable on return. It may
// run beside Commit and beside views, which go on seeing the fold before. An error ends the store, as Commit's does.
// It panics if f goes back in slots, is not sorted, or runs ahead of what the own log has durable: such a slot could
// be lost from the log by a crash and still be in the image. It keeps no part of f but Meta.
func (s *Store) Fold(f *kv.Fold) error {
	s.foldMu.Lock()
	defer s.foldMu.Unlock()
	if err := s.failed(); err != nil {
		return err
	}
	last := s.folded.Load()
	if f.Slot < last.Slot {
		panic(fmt.Sprintf("storage: a fold through slot %d after one through %d", f.Slot, last.Slot))
	}
	if durable := s.pending.durable().Last; f.Slot > uint64(durable) {
		panic(fmt.Sprintf("storage: a fold through slot %d, and the log is durable through %d", f.Slot, durable))
	}
	mustBeSorted(f.Changes)
	next := &foldMarks{Slot: f.Slot, Meta: f.Meta, Records: last.Records}
	err := s.write(s.state, s.statePath(), fmt.Sprintf("fold through slot %d", f.Slot), func(tx *bolt.Tx) error {
		w := folder{tx: tx, digest: last.Records}
		for i := range f.Changes {
			if err := w.apply(&f.Changes[i]); err != nil {
				return err
			}
		}
		next.Records = w.digest
		return put(tx.Bucket([]byte(foldBucket)), foldSeed, foldKey, next)
	})
	if err != nil {
		return err
	}
	s.folded.Store(next)
	forgetPages(s.state, s.stateFile)
	return nil
}

// mustBeSorted panics if changes are not by rising space and key, each once, or do not fit.
func mustBeSorted(changes []kv.Change) {
	for i := range changes {
		c := &changes[i]
		if len(c.Key) == 0 || len(c.Key) > keyLimit || len(c.Value) > recordLimit {
			panic(fmt.Sprintf("storage: change %d of a fold has a key of %d and a value of %d bytes", i, len(c.Key), len(c.Value)))
		}
		if i == 0 {
			continue
		}
		before := &changes[i-1]
		if c.Space < before.Space || (c.Space == before.Space && bytes.Compare(c.Key, before.Key) <= 0) {
			panic(fmt.Sprintf("storage: change %d of a fold is out of order", i))
		}
	}
}

// folder applies changes in one transaction and keeps the digest of all records.
type folder struct {
	tx     *bolt.Tx
	digest digest
	space  kv.Space
	bucket *bolt.Bucket // of space
	arena  arena
}

func (w *folder) apply(c *kv.Change) error {
	if err := w.enter(c.Space); err != nil {
		return err
	}
	seed := spaceSeeds[c.Space]
	if old := w.bucket.Get(c.Key); old != nil {
		if _, err := seed.open(c.Key, old); err != nil {
			return fmt.Errorf("%w: the record of key %q %w", errBadRecord, c.Key, err)
		}
		w.digest.remove(old)
		if c.Value == nil {
			return w.bucket.Delete(c.Key)
		}
	}
	if c.Value == nil {
		return nil
	}
	record := seed.seal(w.arena.take(len(c.Value)+crcBytes), c.Key, c.Value)
	w.digest.add(record)
	return w.bucket.Put(c.Key, record)
}

// enter makes the bucket of a space the current one.
func (w *folder) enter(s kv.Space) (err error) {
	if w.bucket != nil && w.space == s {
		return nil
	}
	w.space = s
	w.bucket, err = w.tx.CreateBucketIfNotExists(spaceNames[s])
	return err
}

// Folded is the slot that the image has reached, durably.
func (s *Store) Folded() multipaxos.Slot { return multipaxos.Slot(s.folded.Load().Slot) }
