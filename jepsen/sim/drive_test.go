package sim

import (
	"errors"
	"testing"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// TestACommitThatMeetsABadRecordLeavesNothing: a commit is one transaction. When a later part was to replace a bad
// record, the disk does not hold the chosen mark of the first part either.
func TestACommitThatMeetsABadRecordLeavesNothing(t *testing.T) {
	d := newWorld(Config{Seed: 1, Without: allFaults}).nodes[0].disk
	b := ballot.Ballot{Counter: 1, Node: 1}
	entry := func(s multipaxos.Slot) []multipaxos.Entry {
		return []multipaxos.Entry{{Slot: s, Ballot: b, Value: []byte("x")}}
	}
	d.committing = []multipaxos.Persist{{Seq: 1, Promised: b, Entries: entry(1)}, {Seq: 2, Entries: entry(2)}}
	if _, err := d.endCommit(); err != nil {
		t.Fatal(err)
	}
	before := d.marks
	d.rotSlot = 2
	d.committing = []multipaxos.Persist{{Seq: 3, Chosen: 1}, {Seq: 4, Entries: entry(2), Chosen: 2}}
	if _, err := d.endCommit(); !errors.Is(err, errRot) {
		t.Fatalf("the commit ends with %v", err)
	}
	if d.marks != before {
		t.Errorf("the disk holds %+v, and held %+v before", d.marks, before)
	}
}
