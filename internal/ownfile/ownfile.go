//go:build unix

// Package ownfile opens files for writing under names that others can guess. Somebody else may have put a link, a pipe
// or a file of their own there, to have it written through, kept open for them, or read.
//
// What is opened is a regular file of this user, and no symbolic link. Strangers can still remove or rename a file in a
// directory that they may write to: its contents are then lost, but nobody else's file is changed.
package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrForeign is wrapped by errors about something that is not a regular file of this user.
var ErrForeign = errors.New("not a file of this program")

// Create makes a new file that only this user may read and write, to be written. A regular file of this user with that
// name, which an earlier run has left, is removed first and never written to. If two callers do so at once, one of them
// fails, or loses its name to the other. Callers who mind hold a lock.
func Create(name string, flag int) (*os.File, error) { return CreateMode(name, flag, 0o600) }

// CreateMode is Create with other permissions.
func CreateMode(name string, flag int, mode fs.FileMode) (*os.File, error) {
	switch err := Check(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.OpenFile(name, flag|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
}

// Open opens a file that stays, a lock or a log, to be read or written as flag says. If there is no file of that name
// it makes one that only this user may read and write.
func Open(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600) // a pipe would block
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, foreign(name, "a link or a pipe")
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = own(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Check returns an error that wraps ErrForeign if there is something else than a regular file of this user.
func Check(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	return own(name, info)
}

func own(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return foreign(name, "no regular file")
	}
	if !Owned(info) {
		return foreign(name, "a file of another user")
	}
	return nil
}

func foreign(name, what string) error {
	return fmt.Errorf("%w: %s is %s, and is kept; remove it, or choose another name", ErrForeign, name, what)
}
