package state

import (
	"errors"
	"path/filepath"
	"testing"

	"tenure/kv"
	"tenure/storage/internal/disktest"
)

// without is f with its keys deleted.
func without(f *listed) *listed {
	for i := range f.Changes {
		f.Changes[i].Value = nil
	}
	return f
}

// Where space is short a part is a small share of it: what it replaces is free again for the next one.
func TestPartsAreSmallWhereSpaceIsShort(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	s := open(t, dir, small)
	disktest.Fill(t, dir, 6<<20)
	free, short := s.room.checkpointSpace()
	p := s.room.nextPart(checkpointOf(20, 500_000).Changes)
	if most := free/8 + 500_000 + 2*partOverhead; !short || p.need > most {
		t.Errorf("a part of %d changes takes %d bytes, and there is space for %d (short: %v)", p.n, p.need, free,
			short)
	}
}

// Each part writes the free list anew, with the pages that the one before has freed.
func TestAPartCountsTheFreeList(t *testing.T) {
	s := open(t, t.TempDir(), small)
	must(t, s.merge(checkpointOf(8, 500_000).Changes, &Marks{Slot: 1}))
	must(t, s.merge(without(checkpointOf(8, 500_000)).Changes, &Marks{Slot: 1}))
	changes := []kv.Change{big("z", 10)}
	v, err := s.pin()
	must(t, err)
	alone, _, err := newRewrite(s.checked, v.Meta).add(&changes[0])
	v.Close()
	must(t, err)
	p := mergePart(t, s, "after large deletions", changes)
	listed := 0
	for id := range s.checked.Newest().HighWater {
		if s.checked.Free().Has(id) {
			listed++
		}
	}
	const few = 64 // pages that this part itself takes from the list
	if listed < 900 || p.need < alone+partOverhead+8*int64(listed-few) {
		t.Errorf("with %d free pages a change that takes %d bytes was measured to take %d", listed, alone, p.need)
	}
}

// Pages that a view keeps from being used again are no space for a part.
func TestAPartDoesNotCountWhatAViewKeeps(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	s := open(t, dir, small)
	must(t, s.Checkpoint(checkpointOf(6, 500_000)))
	viewOf(t, s)
	must(t, s.Checkpoint(without(checkpointOf(6, 500_000))))
	disktest.Fill(t, dir, 0)
	must(t, s.Checkpoint(checkpointOf(1, 500_000)))
	must(t, s.Verify(t.Context()))
}

// A checkpoint of one part for which there is no space is not begun. It can be made once there is.
func TestACheckpointWithoutSpaceIsNotBegun(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	s := open(t, dir, small)
	disktest.Fill(t, dir, 0)
	_, promised, err := s.room.space.Reserve.Promise(s.room.space.Reserve.Held(), false) // for another write
	must(t, err)
	s.room.opened.Store(false) // Open does not wait
	if err := s.Checkpoint(checkpointOf(1, 500_000)); !errors.Is(err, errNoSpace) || s.Checkpointed() != 0 {
		t.Errorf("checkpointed through slot %d: %v", s.Checkpointed(), err)
	}
	s.room.opened.Store(true)
	s.room.space.Reserve.Fulfilled(promised)
	must(t, s.Checkpoint(checkpointOf(1, 500_000)))
	if s.Checkpointed() != 1 {
		t.Errorf("checkpointed through slot %d", s.Checkpointed())
	}
}

// The redo file has its size before space is short, unless one part takes any checkpoint there.
func TestRedoFileIsReadyIfACheckpointMayHaveParts(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	const gathered = 1 << 20 // a sixty-fourth
	for name, c := range map[string]struct{ part, want int64 }{
		"less": {gathered - 1, 0}, "as much": {gathered, 0}, "more": {gathered + 1, largestCheckpoint * gathered},
	} {
		s, err := openOn(t, filepath.Join(dir, name), Options{PartBytes: c.part}, wholeLog, 0, 1<<20)
		must(t, err)
		if s.redo.size() != c.want ||
			s.room.space.Usage().CheckpointBytes != gathered {
			t.Errorf("%s: a redo file of %d bytes, of %d that may gather", name, s.redo.size(),
				s.room.space.Usage().CheckpointBytes)
		}
	}
}
