package lostfound

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	list := func(want ...string) {
		t.Helper()
		all, err := ReadDir(dir)
		if err != nil || len(all) != len(want) {
			t.Fatalf("%v %v, want %q", all, err, want)
		}
		for i, e := range all {
			if e.Name() != want[i] {
				t.Errorf("%v, want %q", all, want)
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, Name)
	must(os.Mkdir(path, 0o700))
	list()
	must(os.WriteFile(filepath.Join(dir, "log.db"), nil, 0o600))
	list("log.db")
	must(os.Remove(path))
	must(os.WriteFile(path, nil, 0o600)) // a file is no work of mkfs
	list("log.db", Name)
	if _, err := ReadDir(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}
