package storage

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"tenure/kv"
)

// mergeParts merges rest, the next changes of plan, part by part. The redo file is durable.
func (s *Store) mergeParts(plan *foldPlan, rest []kv.Change) error {
	for len(rest) > 0 {
		if err := s.failed(); err != nil { // closed, for one: Open makes the rest
			return err
		}
		p := s.nextPart(rest)
		if err := s.awaitPart(p); err != nil {
			return err
		}
		n := p.n
		next := s.folded.Load().progress(plan, n)
		if err := s.merge(rest[:n], &next); err != nil {
			return err
		}
		plan.Done += uint64(n)
		rest = rest[n:]
	}
	return nil
}

// progress is the marks after n more changes of plan: in the middle of it those of the fold before, with the plan, and
// after the last those of the new one.
func (m *foldMarks) progress(plan *foldPlan, n int) foldMarks {
	next := foldMarks{Slot: m.Slot, Meta: m.Meta, Plan: *plan}
	if next.Plan.Done += uint64(n); next.Plan.Done == plan.Changes.Count {
		return foldMarks{Slot: plan.Slot, Meta: plan.Meta}
	}
	return next
}

// merge makes changes and next, of which it fills in the digest, durable in one transaction, and publishes next. The
// caller holds foldMu, or is Open.
func (s *Store) merge(changes []kv.Change, next *foldMarks) error {
	last := s.folded.Load()
	err := s.write(s.state, s.statePath(), fmt.Sprintf("fold after slot %d", last.Slot), func(tx *bolt.Tx) error {
		w := folder{tx: tx, digest: last.Records}
		for i := range changes {
			if err := w.apply(&changes[i]); err != nil {
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
