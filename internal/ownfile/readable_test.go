//go:build unix

package ownfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whether a user can read a file is a matter of the file and of each directory above it.
func TestWhoCanReadAFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "below", "f")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Mkdir(filepath.Dir(name), 0o700),
		os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, file  os.FileMode
		uid, group int // of the file and its directory
		want       bool
	}{
		{0o755, 0o600, 0, 0, false},
		{0o755, 0o640, 0, 54322, true},
		{0o750, 0o644, 0, 0, false},
		{0o755, 0o644, 0, 0, true},
		{0o700, 0o400, 54321, 0, true},
		{0o755, 0o044, 54321, 0, false},
	} {
		if err := errors.Join(os.Chmod(filepath.Dir(name), c.dir), os.Chmod(name, c.file),
			os.Chown(filepath.Dir(name), c.uid, c.group), os.Chown(name, c.uid, c.group)); err != nil {
			t.Fatal(err)
		}
		if got := CanRead(name, 54321, 54322); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if _, err := openAs(t, name, 54321, 54322); (err == nil) != c.want {
			t.Errorf("%+v: the kernel says %v", c, err)
		}
	}
	if !CanRead(name, 0, 0) || CanRead(filepath.Join(dir, "none"), 54321, 54322) {
		t.Error("root cannot read it, or somebody can read a file that is not there")
	}
}

// Somebody who cannot read a file is told what root types to change that.
func TestWhoCannotReadAFileIsToldWhatToType(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "a file")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	want := "it belongs to user root, and this process runs as user 54321: type as root: chgrp 54322 '" + name +
		"' && chmod g+r '" + name + "'"
	if told, _ := openAs(t, name, 54321, 54322); !strings.HasSuffix(told, want) {
		t.Errorf("%s\nwant …%s", told, want)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if told, _ := openAs(t, name, 54321, 54322); !strings.Contains(told, "cannot enter the file's directory") {
		t.Error(told)
	}
}

// openAs opens a file as another user, and returns what Unreadable says of it.
func openAs(t *testing.T, name string, uid, gid int) (told string, err error) {
	t.Helper()
	if err := errors.Join(syscall.Setegid(gid), syscall.Seteuid(uid)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err == nil {
		f.Close()
	} else {
		told = Unreadable(err).Error()
	}
	if err := errors.Join(syscall.Seteuid(0), syscall.Setegid(0)); err != nil {
		t.Fatal(err)
	}
	return told, err
}
