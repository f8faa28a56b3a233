//go:build unix

package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// put makes something at the name that is no file of this program.
var put = map[string]func(name, victim string) error{
	"a link":                func(name, victim string) error { return os.Symlink(victim, name) },
	"a link into nowhere":   func(name, victim string) error { return os.Symlink(victim+"-none", name) },
	"a directory":           func(name, _ string) error { return os.Mkdir(name, 0o700) },
	"a pipe":                func(name, _ string) error { return syscall.Mkfifo(name, 0o600) },
	"a link to a directory": func(name, victim string) error { return os.Symlink(filepath.Dir(victim), name) },
}

// TestForeignFilesAreNotOpened: nothing is written through a link, into a pipe, or in place of a directory.
func TestForeignFilesAreNotOpened(t *testing.T) {
	for what, put := range put {
		dir := t.TempDir()
		name, victim := filepath.Join(dir, "f"), filepath.Join(dir, "victim")
		if err := os.WriteFile(victim, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := put(name, victim); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(name)
		for call, open := range map[string]func(string, int) (*os.File, error){"Create": Create, "Open": Open} {
			f, err := open(name, os.O_RDWR)
			if err == nil {
				f.Close()
				t.Errorf("%s opened %s", call, what)
			}
			if what != "a directory" && !errors.Is(err, ErrForeign) {
				t.Errorf("%s of %s: %v", call, what, err)
			}
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", what, b, err)
		}
		if _, err := os.Lstat(victim + "-none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was made behind it", what)
		}
		if now, err := os.Lstat(name); err != nil || !os.SameFile(before, now) {
			t.Errorf("%s was replaced: %v", what, err)
		}
	}
}

// TestALeftoverIsReplaced: what an earlier run has left is not written to, since others may have it open.
func TestALeftoverIsReplaced(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
	if err := os.WriteFile(name, []byte("left"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(name, other); err != nil {
		t.Fatal(err)
	}
	f, err := Create(name, os.O_WRONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(other); err != nil || string(b) != "left" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestAFileThatStays: Open makes a file, and opens it again with what is in it.
func TestAFileThatStays(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	for range 2 {
		f, err := Open(name, os.O_WRONLY|os.O_APPEND)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	b, err := os.ReadFile(name)
	if err != nil || string(b) != "xx" {
		t.Errorf("%q, %v", b, err)
	}
}
