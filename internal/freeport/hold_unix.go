//go:build unix

package freeport

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// held keeps the locks' files open until the process ends.
var held []*os.File

// hold takes a share for this process, and reports whether it could. Children do not inherit it.
func hold(n int) bool {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("tenure-ports-%d-%d.lock", os.Getuid(), n)),
		os.O_RDWR|os.O_CREATE, 0o600)
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
