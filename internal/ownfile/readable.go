//go:build unix

package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"tenure/internal/shown"
)

// CanRead reports whether the permissions of the file of that name, and of the directories above it, let that user read
// it. Other groups of the user do not count.
func CanRead(name string, uid, group int) bool {
	full, err := filepath.Abs(name)
	if err != nil || !permits(full, uid, group, 4) {
		return false
	}
	for dir := filepath.Dir(full); ; dir = filepath.Dir(dir) {
		if !permits(dir, uid, group, 1) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// permits reports whether a file gives that user the permissions in bits, as in the last digit of a mode.
func permits(name string, uid, group int, bits fs.FileMode) bool {
	info, err := os.Stat(name)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case !ok || uid == 0:
		return ok
	case int64(stat.Uid) == int64(uid):
		mode >>= 6
	case int64(stat.Gid) == int64(group):
		mode >>= 3
	}
	return mode&bits == bits
}

// Unreadable returns err, of opening a file for reading, with what root types to have this user read it if the
// permissions of the file are in the way. Other errors it returns as they are.
func Unreadable(err error) error {
	var p *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &p) || os.Geteuid() == 0 {
		return err
	}
	me := UserName(os.Geteuid())
	owner, other := Owner(p.Path)
	switch {
	case owner == "":
		return fmt.Errorf("%w; user %s cannot enter the file's directory: move the file to one where that user can", err, me)
	case other:
		return fmt.Errorf("%w; it belongs to user %s, and this process runs as user %s: type as root: %s", err, owner, me,
			giveTo(p.Path, os.Getegid()))
	}
	return err
}

// giveTo returns the command that lets a group read a file.
func giveTo(name string, group int) string {
	of := strconv.Itoa(group)
	if g, err := user.LookupGroupId(of); err == nil {
		of = g.Name
	}
	return fmt.Sprintf("chgrp %s %s && chmod g+r %[2]s", of, shown.Word(name))
}
