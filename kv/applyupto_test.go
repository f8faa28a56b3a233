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

// TestApplyUpToAnInstall stops before an install, which takes the state from revision 3 to far above the revision of
// the upload. It compares the state, in memory and as its checkpoint, with one that was not given the install. An
// install that changes nothing is no reason to stop.
func TestApplyUpToAnInstall(t *testing.T) {
	pieces := piecesOf(t, backedUp(t))
	begin := func() *machine {
		m := newMachine(t, DefaultLimits)
		m.do(level(1), set("a", "1").keyed("k", 1), set("b", "1").under("kv/f", 3))
		stageAll(m, uploadA, pieces)
		return m
	}
	after := begin()
	installed := after.do(install(uploadA, len(pieces)))[0].Revision
	for _, c := range []struct {
		limit uint64
		n     int // of the commands below, how many are applied
	}{{3, 2}, {4, 2}, {1 << 40, 2}, {installed - 1, 2}, {installed, 3}, {installed + 1, 4}} {
		all := []Command{install(uploadA, len(pieces)+1), install(uploadB, len(pieces)),
			install(uploadA, len(pieces)).keyed("i", 3), set("c", "1").keyed("j", installed)}
		got, want := begin(), begin()
		whole, err := got.ApplyUpTo(c.limit, got.Applied()+1, batchOf(all...))
		if err != nil || whole != (c.n == len(all)) {
			t.Errorf("up to revision %d: %v %v", c.limit, whole, err)
		}
		want.do(all[:c.n]...)
		if got.Revision() != want.Revision() || got.digest() != want.digest() {
			t.Errorf("up to revision %d the state is not that after %d commands; it is at %d", c.limit, c.n,
				got.Revision())
		}
		got.takeCheckpoint()
		got.reopen()
		if got.digest() != want.digest() {
			t.Errorf("up to revision %d: a checkpoint of it holds something else", c.limit)
		}
	}
}
