//go:build !linux

package storage

import (
	"os"
	"syscall"
)

func fileBirth(f *os.File) (diskRecord, error) {
	info, err := f.Stat()
	if err != nil {
		return diskRecord{}, err
	}
	d := diskRecord{}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		d.Inode = st.Ino
	}
	return d, nil
}

func willRead(*os.File) {}

func allocate(*os.File, int64, int64) error { return nil }

func punch(*os.File, int64, int64) error { return syscall.ENOSYS }

func firstHole(*os.File) int64 { return 0 }

func unmapPages(uintptr, int64) {}
