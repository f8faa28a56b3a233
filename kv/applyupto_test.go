package kv

import "testing"

// TestApplyUpTo stops a batch at each revision, and compares the state with one to which just the commands before the
// one that leads beyond it were given.
func TestApplyUpTo(t *testing.T) {
	first := batchOf(set("a", "0"), set("b", "0"))
	all := []Command{
		set("a", "1"), set("a", "2").at(99) /* changes nothing */, set("b", "1").keyed("once", 0), set("c", "x").under("kv/f", 3),
		del("none"), set("b", "1").keyed("once", 0), {Op: OpTransaction, Parts: []Part{{Op: OpSet, Key: "d"},
			{Op: OpDelete, Key: "a"}}}, set("d", "x").under("kv/f", 9), set("e", "1"),
	}
	// up to which command each revision goes: those that change nothing belong to the revision before them
	upTo := map[uint64]int{3: 0, 4: 2, 5: 3, 6: 6, 7: 7, 8: 8, 9: 9, 10: 9}
	for revision, n := range upTo {
		got, want := newMachine(t, DefaultLimits), newMachine(t, DefaultLimits)
		for _, m := range []*machine{got, want} {
			if _, err := m.Apply(1, first); err != nil {
				t.Fatal(err)
			}
		}
		whole, err := got.ApplyUpTo(revision, 2, batchOf(all...))
		if err != nil || whole != (n == len(all)) {
			t.Errorf("revision %d: %v %v", revision, whole, err)
		}
		if _, err := want.Apply(2, batchOf(all[:n]...)); err != nil {
			t.Fatal(err)
		}
		a, err := got.Digest()
		if err != nil {
			t.Fatal(err)
		}
		b, err := want.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if a != b || got.Revision() != min(revision, 9) {
			t.Errorf("up to revision %d the state is not that after %d commands; it is at %d", revision, n, got.Revision())
		}
	}
}
