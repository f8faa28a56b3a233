package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tenure/internal/ident"
	"tenure/storage/internal/disk"
)

func TestReadIdentity(t *testing.T) {
	dir := t.TempDir()
	if _, ok, err := ReadIdentity(filepath.Join(dir, "none")); ok || err != nil {
		t.Fatalf("of a directory that is not there: %v %v", ok, err)
	}
	if _, ok, err := ReadIdentity(dir); ok || err != nil {
		t.Fatalf("of an empty directory: %v %v", ok, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Fatalf("it has made %v", files)
	}
	s := open(t, dir, small)
	must(t, s.SetNode(3))
	store := s.Identity().Store
	must(t, s.Found(ident.ClusterID{7}, ident.Membership{Number: 1, Members: []ident.Member{{Node: 3, Store: store}}}))
	_, _, err := ReadIdentity(dir)
	wantError(t, err, ErrInUse, dir)
	must(t, s.Close())
	id, ok, err := ReadIdentity(dir)
	if !ok || err != nil || id.Node != 3 || id.Store != store || id.Cluster != (ident.ClusterID{7}) || !id.TakesPart() {
		t.Fatalf("%+v %v %v", id, ok, err)
	}
	if err := os.Truncate(filepath.Join(dir, disk.LogName), 100); err != nil {
		t.Fatal(err)
	}
	_, _, err = ReadIdentity(dir)
	if err == nil {
		t.Fatal("a log.db of 100 bytes has an identity")
	}
}

// TestReadIdentityNamesADamagedHead: what bbolt cannot open because a page of the head is bad is damage, which has a
// remedy, and no trouble with the path.
func TestReadIdentityNamesADamagedHead(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"both meta pages": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(make([]byte, 1<<16))
			return errors.Join(err, f.Close())
		},
		"no bytes": func(path string) error { return os.Truncate(path, 0) },
	} {
		dir := t.TempDir()
		must(t, formed(t, dir).Close())
		must(t, spoil(filepath.Join(dir, disk.LogName)))
		if _, _, err := ReadIdentity(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStartedAs(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	must(t, s.NoteStartedAs(3))
	if err := s.NoteStartedAs(1 << 20); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	m := ident.Membership{Number: 2, Change: 1, Members: []ident.Member{{Node: 4, Store: s.Identity().Store}}}
	must(t, s.Join(ident.ClusterID{1}, 4, m))
	if err := s.NoteStartedAs(2); !errors.Is(err, ErrRefused) {
		t.Errorf("of a member: %v", err)
	}
	must(t, s.Close())
	id, _, err := ReadIdentity(dir)
	if err != nil || id.StartedAs != 3 || id.Node != 4 {
		t.Errorf("%+v %v", id, err)
	}
}
