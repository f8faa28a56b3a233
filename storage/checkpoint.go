package storage

import (
	"bytes"
	"errors"
	"fmt"

	"tenure/kv"
	"tenure/multipaxos"
)

// Fold merges f into the image: changes, slot, meta record and digest, durable on return, and after a crash all of them
// or none. It may run beside Commit and beside views. A view that was open before goes on seeing the fold before; one
// that is opened meanwhile may see some of the changes. An error ends the store, as Commit's does. It panics if f goes
// back in slots, is not sorted, or runs ahead of what the own log has durable: such a slot could be lost from the log
// by a crash and still be in the image. It keeps no part of f but Meta.
//
// Up to Options.FoldPartBytes of changes are one transaction, more are several, after the changes are durable in the
// redo file; see *Folds* in DESIGN.md. While the file system has no space for what comes next, Fold waits for it, until
// Interrupt or Close.
func (s *Store) Fold(f *kv.Fold) error { return s.state.fold(f, s.log.pending.durable().Last) }

// fold is Fold, of a log that is durable through slot durable.
func (s *stateDB) fold(f *kv.Fold, durable multipaxos.Slot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed(); err != nil {
		return err
	}
	select {
	case <-s.interrupted: // one that it has cut off must be made to its end first
		return ErrInterrupted
	default:
	}
	last := s.folded.Load()
	if f.Slot < last.Slot {
		panic(fmt.Sprintf("storage: a fold through slot %d after one through %d", f.Slot, last.Slot))
	}
	if f.Slot > uint64(durable) {
		panic(fmt.Sprintf("storage: a fold through slot %d, and the log is durable through %d", f.Slot, durable))
	}
	mustBeSorted(f.Changes)
	if p := s.nextPart(f.Changes); p.n == len(f.Changes) {
		promised, err := s.awaitPart(p)
		if err == nil {
			defer s.space.reserve.fulfilled(promised)
			return s.merge(f.Changes, &foldMarks{Slot: f.Slot, Meta: f.Meta})
		}
		if !errors.Is(err, errShortNow) {
			return err
		}
	}
	promised, err := s.awaitSpace(s.redoPath(), func() (int64, error) { return redoBytes(f.Changes) - s.redo.size(), nil })
	if err != nil {
		return err
	}
	plan := foldPlan{Slot: f.Slot, Meta: f.Meta}
	err = s.redo.write(f.Changes, &plan, s.options.FoldPartBytes)
	s.space.reserve.fulfilled(promised)
	if err != nil {
		return s.fail(fmt.Errorf("%s: fold through slot %d: %w", s.redoPath(), f.Slot, err))
	}
	if err := s.mergeParts(&plan, f.Changes); err != nil {
		return err
	}
	return s.shapeRedo()
}

// mustBeSorted panics if changes are not by rising space and key, each once, or do not fit.
func mustBeSorted(changes []kv.Change) {
	for i := range changes {
		var before *kv.Change
		if i > 0 {
			before = &changes[i-1]
		}
		if err := follow(before, &changes[i]); err != nil {
			panic(fmt.Sprintf("storage: change %d of a fold %v", i, err))
		}
	}
}

// follow checks that c can come after before in a fold; before is nil for the first one.
func follow(before, c *kv.Change) error {
	switch {
	case len(c.Key) == 0 || len(c.Key) > keyLimit || len(c.Value) > recordLimit:
		return fmt.Errorf("has a key of %d and a value of %d bytes", len(c.Key), len(c.Value))
	case before == nil || c.Space > before.Space:
		return nil
	case c.Space < before.Space || bytes.Compare(c.Key, before.Key) <= 0:
		return errors.New("is out of order")
	}
	return nil
}

// Folded returns the slot that the image has reached, durably.
func (s *Store) Folded() multipaxos.Slot { return multipaxos.Slot(s.state.folded.Load().Slot) }
