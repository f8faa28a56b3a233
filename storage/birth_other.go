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
