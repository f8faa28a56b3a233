package storage

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSetAside(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{filepath.Join(dir, "none"), dir} {
		if moved, err := SetAside(d, "aside"); moved || err != nil {
			t.Fatalf("%s: %v %v", d, moved, err)
		}
	}
	s := formed(t, dir)
	fill(t, s, 3, 10)
	was := s.Identity()
	_, err := SetAside(dir, "aside")
	wantError(t, err, ErrInUse, dir)
	must(t, s.Close())
	must(t, os.WriteFile(filepath.Join(dir, "foreign"), []byte("f"), 0o600))
	if moved, err := SetAside(dir, "aside"); !moved || err != nil {
		t.Fatal(moved, err)
	}
	if moved, err := SetAside(dir, "again"); moved || err != nil {
		t.Fatalf("of what is aside already: %v %v", moved, err)
	}
	if string(readFile(t, filepath.Join(dir, "aside", "foreign"))) != "f" {
		t.Error("a foreign file is not there")
	}
	if id := open(t, dir, small).Identity(); id.Formed || id.Store == was.Store {
		t.Errorf("the directory is not empty: %+v", id)
	}
	o := small
	o.Offline = true
	if id := open(t, filepath.Join(dir, "aside"), o).Identity(); id.Store != was.Store {
		t.Errorf("what was moved is not whole: %+v", id)
	}
}
