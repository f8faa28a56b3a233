package storage

import (
	"bytes"
	"errors"
	"fmt"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/sealed"
)

// Checkpoint merges f into the state database: changes, slot, meta record and digest, durable on return, and after a
// crash all of them or none. It may run beside Commit and beside views. A view that was open before goes on seeing the
// checkpoint before; one that is opened meanwhile may see some of the changes. An error ends the store, as Commit's
// does. It panics if f goes back in slots, is not sorted, or runs ahead of the durable slots of the own log: a crash
// could lose such a slot from the log, and leave it in the state database. It keeps no part of f except Meta.
//
// Up to Options.CheckpointPartBytes of changes are one transaction, more are several, after the changes are durable in
// the redo file; see *Checkpoints* in DESIGN.md. While the file system has no space for what comes next, Checkpoint
// waits for it, until Interrupt or Close.
func (s *Store) Checkpoint(f *kv.Checkpoint) error {
	return s.state.checkpoint(f, s.log.Durable().Last)
}

// checkpoint is Checkpoint beside a log that is durable through slot durable.
func (s *stateDB) checkpoint(f *kv.Checkpoint, durable multipaxos.Slot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	select {
	case <-s.interrupted: // one that it has cut off must be made to its end first
		return ErrInterrupted
	default:
	}
	last := s.checkpointed.Load()
	if f.Slot < last.Slot {
		panic(fmt.Sprintf("storage: a checkpoint through slot %d after one through %d", f.Slot, last.Slot))
	}
	if f.Slot > uint64(durable) {
		panic(fmt.Sprintf("storage: a checkpoint through slot %d, and the log is durable through %d", f.Slot, durable))
	}
	mustBeSorted(f.Changes)
	if p := s.nextPart(f.Changes); p.n == len(f.Changes) {
		promised, err := s.awaitPart(p)
		if err == nil {
			defer s.space.Reserve.Fulfilled(promised)
			return s.merge(f.Changes, &checkpointMarks{Slot: f.Slot, Meta: f.Meta})
		}
		if !errors.Is(err, errShortNow) {
			return err
		}
	}
	missing := redoBytes(f.Changes)
	promised, err := s.awaitSpace(s.files.RedoPath(), func() (int64, error) { return missing - s.redo.size(), nil })
	if err != nil {
		return err
	}
	plan := checkpointPlan{Slot: f.Slot, Meta: f.Meta}
	err = s.redo.write(f.Changes, &plan, s.options.PartBytes)
	s.space.Reserve.Fulfilled(promised)
	if err != nil {
		return s.failure.Fail(fmt.Errorf("%s: checkpoint through slot %d: %w", s.files.RedoPath(), f.Slot, err))
	}
	if err := s.mergeParts(&plan, f.Changes); err != nil {
		return err
	}
	return s.shapeRedo()
}

// mustBeSorted panics unless changes are sorted by space and key, each key once, and of sizes that bbolt takes.
func mustBeSorted(changes []kv.Change) {
	for i := range changes {
		var before *kv.Change
		if i > 0 {
			before = &changes[i-1]
		}
		if err := follow(before, &changes[i]); err != nil {
			panic(fmt.Sprintf("storage: change %d of a checkpoint %v", i, err))
		}
	}
}

// follow returns an error unless c can come after before in a checkpoint; before is nil for the first one.
func follow(before, c *kv.Change) error {
	switch {
	case len(c.Key) == 0 || len(c.Key) > sealed.MaxKeyBytes || len(c.Value) > sealed.MaxBytes:
		return fmt.Errorf("has a key of %d and a value of %d bytes", len(c.Key), len(c.Value))
	case before == nil || c.Space > before.Space:
		return nil
	case c.Space < before.Space || bytes.Compare(c.Key, before.Key) <= 0:
		return errors.New("is out of order")
	}
	return nil
}

// Checkpointed returns the slot that the state database has reached, durably.
func (s *Store) Checkpointed() multipaxos.Slot { return s.state.reached() }

// Records returns how many records the newest checkpoint has, and a digest of them that does not depend on the store:
// it is that of a snapshot's SnapshotInfo.
func (s *Store) Records() (count, digest uint64) { return s.state.records() }
