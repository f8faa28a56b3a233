package kv

import (
	"testing"

	"pgregory.net/rapid"
)

// The content of the state database after a slot depends on the log alone, not on restarts, nor on the checkpoints made
// on the way, whole or in parts. Replicas are compared by it.
func TestTheStateDatabaseIsAMatterOfTheLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, small)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.step(rt)
		}
		for _, h := range w.held {
			h.Close()
		}
		for ; w.frost != nil; w.frost, w.next = w.next, nil {
			if w.stateDB.slot < w.frost.Slot() {
				w.stateDB.Merge(w.frost.Checkpoint())
			}
			if err := w.Checkpointed(); err != nil {
				rt.Fatal(err)
			}
		}
		w.checkpointAll(rt)

		twin := newMachine(t, small)
		for i, entry := range w.log {
			if err := entry(uint64(i+1), twin.State); err != nil {
				rt.Fatal(err)
			}
		}
		twin.checkpointAll(rt)
		if w.stateDB.Digest() != twin.stateDB.Digest() {
			rt.Fatalf("slot %d: checkpoints on the way change what is in the state database", w.Applied())
		}
	})
}

// checkpointAll checkpoints what is applied.
func (m *machine) checkpointAll(t *rapid.T) {
	f := m.Freeze()
	if f == nil {
		return
	}
	m.stateDB.Merge(f.Checkpoint())
	if err := m.Checkpointed(); err != nil {
		t.Fatal(err)
	}
}
