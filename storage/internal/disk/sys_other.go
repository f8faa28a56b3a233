//go:build !linux

package disk

import (
	"os"
	"syscall"
)

// DataSync makes the content of f durable.
func DataSync(f *os.File) error { return f.Sync() }

// WillRead does nothing here.
func WillRead(*os.File) {}

// Allocate does nothing here.
func Allocate(*os.File, int64, int64) error { return nil }

// Punch is not supported here.
func Punch(*os.File, int64, int64) error { return syscall.ENOSYS }

// FirstHole returns 0: it is not known here.
func FirstHole(*os.File) int64 { return 0 }

func unmapPages(uintptr, int64) {}
