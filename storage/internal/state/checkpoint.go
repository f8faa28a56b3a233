package state

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/sealed"
)

// Checkpoint merges f into the state database, as Store.Checkpoint of package storage says. The log is durable through
// slot durable: f must not be ahead of that. One goroutine at a time.
func (s *DB) Checkpoint(f *kv.Checkpoint, durable multipaxos.Slot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	s.checked.StopSharing() // a view that nobody reads must not hold it up
	defer s.checked.Share()
	select {
	case <-s.room.interrupted: // one that it has cut off must be made to its end first
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
	changes := sorted(f.Changes)
	if all, ok := s.onePart(changes); ok {
		if p := s.room.nextPart(all); p.n == len(all) {
			promised, err := s.room.awaitPart(p)
			if err == nil {
				defer s.room.space.Reserve.Fulfilled(promised)
				return s.merge(all, &Marks{Slot: f.Slot, Meta: f.Meta})
			}
			if !errors.Is(err, errShortNow) {
				return err
			}
		}
	}
	missing := redoBytes(changes)
	promised, err := s.room.awaitSpace(s.files.RedoPath(), func() (int64, error) { return missing - s.redo.size(), nil })
	if err != nil {
		return err
	}
	plan := Plan{Slot: f.Slot, Meta: f.Meta}
	err = s.redo.write(changes, &plan, s.options.PartBytes)
	s.room.space.Reserve.Fulfilled(promised)
	if err != nil {
		return s.failure.Fail(fmt.Errorf("%s: checkpoint through slot %d: %w", s.files.RedoPath(), f.Slot, err))
	}
	if err := s.mergeParts(&plan, changes); err != nil {
		return err
	}
	return s.ShapeRedo()
}

// sorted returns changes. When they are ranged over it panics unless they are sorted by kind and key, each key once,
// and of sizes that bbolt takes.
func sorted(changes iter.Seq[kv.Change]) iter.Seq[kv.Change] {
	return func(yield func(kv.Change) bool) {
		if changes == nil {
			return
		}
		var before *kv.Change
		var last kv.Change
		for c := range changes {
			if err := follow(before, &c); err != nil {
				panic(fmt.Sprintf("storage: a change of a checkpoint %v", err))
			}
			last.Kind, last.Key = c.Kind, append(last.Key[:0], c.Key...)
			before = &last
			if !yield(c) {
				return
			}
		}
	}
}

// follow returns an error unless c can come after before in a checkpoint; before is nil for the first one.
func follow(before, c *kv.Change) error {
	switch {
	case len(c.Key) == 0 || len(c.Key) > sealed.MaxKeyBytes || len(c.Value) > sealed.MaxBytes:
		return fmt.Errorf("has a key of %d and a value of %d bytes", len(c.Key), len(c.Value))
	case before == nil || c.Kind > before.Kind:
		return nil
	case c.Kind < before.Kind || bytes.Compare(c.Key, before.Key) <= 0:
		return errors.New("is out of order")
	}
	return nil
}

// ErrInterrupted is that of package storage: a checkpoint was not made, or not to its end, because of Interrupt.
var ErrInterrupted = errors.New("interrupted")
