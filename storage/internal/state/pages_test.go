package state

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

// treeStore has a tree of three levels at most, and both meta pages of checkpoints.
func treeStore(t *testing.T, o Options) *testDB {
	s := open(t, t.TempDir(), o)
	checkpointKeys(t, s, 1, 0, 2000, "v")
	checkpointKeys(t, s, 1, 0, 10, "w")
	return s
}

// patchAt overwrites bytes of the file of an open store.
func patchAt(t *testing.T, path string, off int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt(b, off)
	must(t, err)
	must(t, f.Close())
}

// pageAt is where page id of s starts.
func pageAt(s *testDB, id uint64) int64 { return int64(id) * int64(s.checked.Newest().PageBytes) }

// borderOf is the first key of a leaf in the middle, and where the branch above has it.
func borderOf(t *testing.T, s *testDB) (branch uint64, off int, key string) {
	t.Helper()
	b := readFile(t, s.files.StatePath())
	for _, p := range disktest.PagesOf(t, b, disktest.Branch) {
		if k := p.Key(2); !s.checked.Free().Has(p.ID) {
			return p.ID, bytes.Index(p.Data, k), string(k)
		}
	}
	t.Fatal("no branch")
	return 0, 0, ""
}

// A key in a branch that became larger sends the deletion of a leaf's first key to the leaf before, where it is not:
// the deletion would be dropped, and the old value served for ever.
func TestACheckpointIsNotMisledByABranch(t *testing.T) {
	s := treeStore(t, small)
	branch, off, first := borderOf(t, s)
	var n int
	fmt.Sscanf(first, "key%06d", &n)
	patchAt(t, s.files.StatePath(), pageAt(s, branch)+int64(off), fmt.Appendf(nil, "key%06d", n+2))
	err := s.Checkpoint(&listed{Slot: 1, Changes: []kv.Change{{Kind: kv.KindData, Key: []byte(first)}}})
	wantError(t, err, disk.ErrDamaged, s.files.StatePath(), fmt.Sprintf("page %d fails its checksum", branch))
	_, err = s.View()
	wantError(t, err, disk.ErrDamaged, fmt.Sprintf("page %d", branch))
}

// Damage to a page after it was read for a checkpoint, and before the checkpoint is durable, gets into no new page.
func TestDamageDuringACheckpointIsNotMadeWhole(t *testing.T) {
	s := treeStore(t, small)
	c := s.checked
	before := c.Newest().TxID
	err := s.failure.Write(s.db, s.path, "fold", &s.wedged, func(tx *bolt.Tx) error {
		must(t, c.Begin(tx))
		w := newMerger(tx, c, s.checkpointed.Load().Records, &recount{})
		must(t, w.apply(&kv.Change{Kind: kv.KindData, Key: []byte("key001000"), Value: []byte("new")}))
		leaf := pageAt(s, w.cursor.Leaf().ID)
		at := bytes.Index(readFile(t, s.files.StatePath())[leaf:], []byte("v1003"))
		patchAt(t, s.files.StatePath(), leaf+int64(at), []byte("?"))
		return nil
	})
	c.End()
	wantError(t, err, disk.ErrDamaged, s.files.StatePath(), "fails its checksum")
	if after := c.Newest().TxID; after != before {
		t.Errorf("transaction %d was made durable", after)
	}
}

// Of a large file only the branches are read at the start. Its leaves are held against the checksums of the run before.
func TestChecksumsOutliveTheProcess(t *testing.T) {
	s := treeStore(t, Options{VerifyBytes: 1})
	older := readFile(t, s.files.StatePath())
	checkpointKeys(t, s, 1, 1000, 1010, "x")
	checkpointKeys(t, s, 1, 1000, 1010, "y")
	s = reopen(t, s)
	checkpointKeys(t, s, 1, 1000, 1010, "v")
	s = reopen(t, s)
	v := viewOf(t, s)
	n := 0
	must(t, v.Ascend(kv.KindData, nil, func(_, _ []byte) bool { n++; return true }))
	if n != 2000 {
		t.Errorf("%d keys", n)
	}
	// A leaf as it once was, put back between two runs.
	leaf := leafOf(t, s, "key001005").ID
	v.Close()
	must(t, s.Close())
	patchAt(t, s.files.StatePath(), pageAt(s, leaf), older[pageAt(s, leaf):pageAt(s, leaf+1)])
	s = open(t, s.files.Dir, s.options)
	v = viewOf(t, s)
	_, err := v.Get(kv.KindData, []byte("key001005"))
	wantError(t, err, disk.ErrDamaged, fmt.Sprintf("page %d fails its checksum", leaf))
}

// A version that knows no checksums leaves those of an earlier transaction, or none.
func TestChecksumsOfAnotherTimeAreMadeAnew(t *testing.T) {
	s := treeStore(t, small)
	older := readFile(t, s.files.SumsPath())
	checkpointKeys(t, s, 1, 0, 500, "x")
	checkpointKeys(t, s, 1, 0, 500, "y")
	want := mustContent(t, s)
	for _, spoil := range []func(path string) error{
		func(path string) error { overwrite(t, path, older); return nil },
		os.Remove,
		func(path string) error { return os.Truncate(path, 100) },
	} {
		must(t, s.Close())
		must(t, spoil(s.files.SumsPath()))
		s = open(t, s.files.Dir, small)
		if mustContent(t, s) != want {
			t.Error("it holds something else")
		}
		must(t, s.Scrub(t.Context(), 1<<40))
	}
}

// With the newest meta page damaged, bbolt goes on from the older one, and shows the checkpoint before.
func TestTheOlderMetaPageIsNotTaken(t *testing.T) {
	for _, use := range []func(*testDB) error{
		func(s *testDB) error {
			v, err := s.View()
			if err == nil {
				v.Close()
			}
			return err
		},
		func(s *testDB) error { return s.Checkpoint(&listed{Slot: 1}) },
		func(s *testDB) error { return s.Refresh() },
		func(s *testDB) error { return s.Scrub(t.Context(), 1<<40) },
	} {
		s := treeStore(t, small)
		m := s.checked.Newest()
		patchAt(t, s.files.StatePath(), int64(m.TxID&1)*4096+disktest.HeadBytes+20, []byte{0xff})
		wantError(t, use(s), disk.ErrDamaged, s.files.StatePath())
		must(t, s.Close())
	}
}

// The scrub finds damage in pages that no reader asks for, and leaves free pages alone.
func TestScrub(t *testing.T) {
	s := treeStore(t, small)
	must(t, s.Scrub(t.Context(), 1<<40))
	passed := s.Stats().ScrubbedPages
	if end := s.checked.Newest().HighWater; passed != end {
		t.Errorf("%d pages of %d were passed", passed, end)
	}
	free, live := uint64(0), uint64(0)
	for id := uint64(2); id < passed; id++ {
		if s.checked.Free().Has(id) {
			free = id
		} else {
			live = id
		}
	}
	patchAt(t, s.files.StatePath(), pageAt(s, free)+100, []byte("free"))
	must(t, s.Scrub(t.Context(), 1<<40))
	patchAt(t, s.files.StatePath(), pageAt(s, live)+4095, []byte{0xff})
	wantError(t, s.Scrub(t.Context(), 1<<40), disk.ErrDamaged, fmt.Sprintf("page %d fails its checksum", live))
}
