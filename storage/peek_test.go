package storage

import (
	"os"
	"path/filepath"
	"testing"

	"tenure/internal/ident"
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
	if err := os.Truncate(filepath.Join(dir, logName), 100); err != nil {
		t.Fatal(err)
	}
	_, _, err = ReadIdentity(dir)
	if err == nil {
		t.Fatal("a log.db of 100 bytes has an identity")
	}
}
