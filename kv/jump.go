package kv

import "fmt"

// Jump makes s the beginning of a new cluster. Its slot and its revision rise beyond all numbers that the old cluster
// may have used after s. F rises with them, so a retry of a command that the old cluster may have applied is refused.
// The revision ends one above F: a client that has seen it may write. The remembered idempotency keys are forgotten:
// beside the jump they are all too old. SetMembers raises the eras. An error means that there are no such numbers left.
//
// Entries keep their ModifyIndex. Changes that the old cluster made beyond s are lost, deletions among them. So every
// tombstone is compacted into a floor at the new revision: an index from before the jump is answered as one whose
// history is not remembered.
func (s *State) Jump(slots, revisions uint64) error {
	if beyondReach(s.applied, slots) || beyondReach(s.exec.revision, revisions) ||
		s.exec.revision+revisions == MaxReached {
		return fmt.Errorf("kv: slot %d and revision %d cannot rise by %d and %d", s.applied, s.exec.revision, slots,
			revisions)
	}
	s.applied += slots
	s.exec.revision += revisions
	s.dedup.forgetAll(s.exec.revision)
	s.exec.revision++
	r := &s.exec.reg
	r.tombstones = newTombstones()
	r.tombstones.floor, r.sessions.index = s.exec.revision, s.exec.revision
	return nil
}

// beyondReach reports whether n cannot rise by so much.
func beyondReach(n, by uint64) bool { return n > MaxReached || by > MaxReached-n }

// forgetAll drops every key, and refuses every base up to revision from now on.
func (d *dedup) forgetAll(revision uint64) {
	d.index = make(map[string]uint64)
	d.queue.first, d.queue.chunks = d.queue.next, nil
	d.floor = max(d.floor, revision+1)
}
