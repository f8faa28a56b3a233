package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/storage"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestADamagedDirectoryIsSetAside(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := w.make(2, log{chosen: 1, entries: []string{"a=1"}})
	_, err := SetAside(dir, false, noon)
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "is whole: it is the data of node 2") {
		t.Fatalf("a whole directory: %v", err)
	}
	w.must(os.Truncate(filepath.Join(dir, "state.db"), 100))
	named := func() {
		t.Helper()
		if f, err := FormerOf(dir); f.Name != "rack 2" || f.Cluster != (ident.ClusterID{w.cluster}) || err != nil {
			t.Errorf("it was of %+v, %v", f, err)
		}
	}
	named()
	aside, err := SetAside(dir, false, noon)
	if err != nil || aside != filepath.Join(dir, "aside-20261123-120000") {
		t.Fatal(aside, err)
	}
	named() // a rejoin that was interrupted here goes on
	if aside, err := SetAside(dir, false, noon); aside != "" || err != nil {
		t.Errorf("an empty directory: %s %v", aside, err)
	}
	s, err := storage.Open(dir, small) // the rejoin has begun to join, and was interrupted
	w.must(err)
	w.must(s.Close())
	if aside, err := SetAside(dir, false, noon.Add(time.Hour)); aside != "" || err != nil {
		t.Errorf("a directory of an attempt to join: %s %v", aside, err)
	}
	named()
}

func TestAWholeDirectoryIsSetAsideOnDemand(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := w.make(2, log{chosen: 1, entries: []string{"a=1"}})
	s, err := storage.Open(dir, small)
	w.must(err)
	if _, err := SetAside(dir, true, noon); !errors.Is(err, storage.ErrInUse) {
		t.Fatalf("a node that runs: %v", err)
	}
	if _, err := FormerOf(dir); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("the name of a node that runs: %v", err)
	}
	w.must(s.Close())
	if aside, err := SetAside(dir, true, noon); aside == "" || err != nil {
		t.Fatal(aside, err)
	}
	if f, err := FormerOf(t.TempDir()); f.Name != "" || err != nil {
		t.Errorf("an empty directory is of %+v, %v", f, err)
	}
}
