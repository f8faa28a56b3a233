package storage

import (
	"bytes"
	"path/filepath"
	"testing"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
)

// The files that a node has left can be read in place or from a copy, again and again, with the entries that only the
// journal holds.
func TestOfflineReadsWithoutChanging(t *testing.T) {
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 3, 10)
	checkpointKeys(t, s, 0, 5, "v")
	fill(t, s, 2, 10) // pending in the journal when the files are copied
	want := mustContent(t, s)
	clone := filepath.Join(t.TempDir(), "clone")
	copyDir(t, dir, clone)
	must(t, s.Close())

	o := small
	o.Offline = true
	_, err := Open(t.TempDir(), o)
	wantError(t, err, ErrUnusable, "holds no store")
	log, state := paths(clone)
	for range 2 {
		before := [][]byte{readFile(t, log), readFile(t, state), readFile(t, filepath.Join(clone, disk.JournalName))}
		c := open(t, clone, o)
		if got := mustContent(t, c); got != want {
			t.Errorf("the copy holds\n%s\nand not\n%s", got, want)
		}
		_, err := Open(clone, o)
		wantError(t, err, ErrInUse, clone)
		must(t, c.Close())
		for i, name := range []string{log, state, filepath.Join(clone, disk.JournalName)} {
			if !bytes.Equal(before[i], readFile(t, name)) {
				t.Errorf("%s was changed", name)
			}
		}
	}
	entries, err := open(t, dir, o).Entries(5, 5, 1)
	if err != nil || len(entries) != 1 || entries[0].Slot != multipaxos.Slot(5) {
		t.Errorf("the original: %v %v", entries, err)
	}
}
