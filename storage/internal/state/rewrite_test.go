package state

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tenure/kv"
	"tenure/storage/internal/space"
)

// mergePart merges the part with which changes begin, as where space is short. It compares the measured size of the
// part with the pages that bbolt allocated.
func mergePart(t *testing.T, s *testDB, name string, changes []kv.Change) part {
	t.Helper()
	s.room.space = space.NewAccount(s.failure, s.files, 0, 0) // a reserve that is not known counts as short
	p := s.room.nextPart(changes)
	before := s.db.Stats()
	must(t, s.merge(changes[:p.n], &Marks{Slot: 1}))
	after := s.db.Stats()
	wrote := after.TxStats.GetPageAlloc() - before.TxStats.GetPageAlloc()
	if wrote > p.need {
		t.Errorf("%s: a part of %d changes was measured to take %d bytes and took %d", name, p.n, p.need, wrote)
	}
	return p
}

// A leaf of large values is written whole for each one that is appended to it, and holds up to four.
func TestAPartOfRisingKeysIsMeasured(t *testing.T) {
	s := open(t, t.TempDir(), small)
	for i := range 14 {
		p := mergePart(t, s, fmt.Sprint("value ", i), []kv.Change{big(fmt.Sprintf("key%04d", i), 450_000)})
		if most := int64(7 * 450_000); p.need > most {
			t.Errorf("value %d was measured to take %d bytes: more than any leaf and its neighbours", i, p.need)
		}
		if row := leafOf(t, s, fmt.Sprintf("key%04d", i)).Bytes; p.run < row {
			t.Errorf("value %d was measured to need a row of %d bytes, and lies in one of %d", i, p.run, row)
		}
	}
}

func TestPartsAreMeasured(t *testing.T) {
	const parts = 400
	r := rand.New(rand.NewPCG(1, 2))
	s := open(t, t.TempDir(), small)
	for i := range parts {
		var changes []kv.Change
		for key := r.IntN(8); key < 200; key += 1 + r.IntN(1+r.IntN(60)) {
			c := big(fmt.Sprintf("key%04d", key), []int{10, 1000, 3000, 50_000, 450_000}[r.IntN(5)])
			if r.IntN(2) == 0 {
				c.Value = nil
			}
			changes = append(changes, c)
		}
		mergePart(t, s, fmt.Sprint("part ", i), changes)
	}
	must(t, s.Verify(t.Context()))
}

func big(key string, bytes int) kv.Change {
	return kv.Change{Kind: kv.KindData, Key: []byte(key), Value: make([]byte, bytes)}
}

func checkpointOf(n, bytes int) *listed {
	f := &listed{Slot: 1}
	for i := range n {
		f.Changes = append(f.Changes, big(string(rune('a'+i)), bytes))
	}
	return f
}
