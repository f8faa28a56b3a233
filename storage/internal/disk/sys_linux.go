package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// DataSync makes the content of f durable.
func DataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// WillRead asks the kernel to read all of f ahead.
func WillRead(f *os.File) { unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_WILLNEED) }

// Allocate takes space for n bytes at off without writing them, so that a full disk shows here and not at a sync. A
// file system that cannot do it is no error.
func Allocate(f *os.File, off, n int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, off, n)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return nil
	}
	return err
}

// Punch gives the blocks of n bytes of f at off back to the file system. They read as zeros then.
func Punch(f *os.File, off, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

// FirstHole returns the first byte of f that has no block, its size if there is none, or 0 if that is not known.
func FirstHole(f *os.File) int64 {
	off, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_HOLE)
	if err != nil {
		return 0
	}
	return off
}

// unmapPages drops n bytes at address from this process's page table. They stay in the kernel's page cache, which maps
// them again when they are read. A failure does not matter: this only saves memory.
func unmapPages(address uintptr, n int64) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, address, uintptr(n), unix.MADV_DONTNEED)
}
