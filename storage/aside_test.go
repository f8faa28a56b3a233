package storage

import (
	"errors"
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
	others := t.TempDir()
	must(t, os.WriteFile(filepath.Join(others, "passwd"), []byte("mine"), 0o644))
	_, err := SetAside(others, "aside")
	wantError(t, err, ErrUnusable, others, "such as passwd")
	if string(readFile(t, filepath.Join(others, "passwd"))) != "mine" || len(names(t, others)) != 1 {
		t.Errorf("the files of others are not as they were: %q", names(t, others))
	}
	s := formed(t, dir)
	fill(t, s, 3, 10)
	was := s.Identity()
	_, err = SetAside(dir, "aside")
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

// TestSetAsideThatIsInterrupted: wherever the move of a directory whose state differs ends, no node starts on what is
// left, and the next SetAside moves the rest.
func TestSetAsideThatIsInterrupted(t *testing.T) {
	was := t.TempDir()
	s := formed(t, was)
	fill(t, s, 3, 10)
	checkpointKeys(t, s, 0, 3, "v")
	must(t, s.MarkDiffers("at slot 1"))
	must(t, s.Close())
	files, err := os.ReadDir(was)
	must(t, err)
	var order []string
	for _, step := range asideOrder(files) {
		order = append(order, step...)
	}
	if len(order) < 4 || len(order) != len(files)-1 { // the lock stays
		t.Fatalf("%q of %d files", order, len(files))
	}
	for n := range order {
		dir := filepath.Join(t.TempDir(), "data")
		must(t, os.CopyFS(dir, os.DirFS(was)))
		must(t, os.Remove(filepath.Join(dir, lockName)))
		must(t, os.WriteFile(filepath.Join(dir, acceptedName), nil, 0o600)) // it is a copy
		must(t, os.Mkdir(filepath.Join(dir, "aside"), 0o700))
		for _, name := range order[:n] {
			must(t, os.Rename(filepath.Join(dir, name), filepath.Join(dir, "aside", name)))
		}
		if s, err := Open(dir, small); err == nil || n == 0 && !errors.Is(err, ErrDiffers) {
			t.Errorf("%q were moved, and %+v starts: %v", order[:n], s.Identity(), err)
		}
		if moved, err := SetAside(dir, "again"); !moved || err != nil {
			t.Errorf("%q were moved: the rest: %v %v", order[:n], moved, err)
		}
		open(t, dir, small)
	}
}
