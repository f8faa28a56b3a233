//go:build unix

package freeport

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tenure/internal/ownfile"
)

// held keeps the locks' files open until the process ends.
var held []*os.File

// lockName returns the name of the lock of a share, in a directory in which everybody may make files.
func lockName(n int) string { return fmt.Sprintf("tenure-ports-%d-%d.lock", os.Getuid(), n) }

// hold takes a share for this process, and reports whether it could. Children do not inherit it.
func hold(n int) bool {
	f, err := ownfile.Open(filepath.Join(os.TempDir(), lockName(n)), os.O_RDWR)
	if err != nil {
		return false
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // it was only looked at
		return false
	}
	held = append(held, f)
	return true
}
