//go:build unix

package freeport

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestLocksAreNotMadeThroughLinks: everybody may put a link into the directory of the locks.
func TestLocksAreNotMadeThroughLinks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	victim := filepath.Join(dir, "victim")
	if err := os.Symlink(victim, filepath.Join(dir, lockName(1))); err != nil {
		t.Fatal(err)
	}
	if hold(1) {
		t.Error("a link is taken for a lock")
	}
	if _, err := os.Lstat(victim); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made behind it: %v", err)
	}
	if !hold(2) {
		t.Error("no lock where there is no link")
	}
}
