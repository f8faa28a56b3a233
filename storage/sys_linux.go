package storage

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileBirth returns the inode and, where the file system knows it, the birth time of f.
func fileBirth(f *os.File) (diskRecord, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return diskRecord{}, os.NewSyscallError("statx", err)
	}
	d := diskRecord{Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		d.BirthSec, d.BirthNsec = st.Btime.Sec, int64(st.Btime.Nsec)
	}
	return d, nil
}

// willRead asks the kernel to read all of f ahead.
func willRead(f *os.File) { unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_WILLNEED) }

// allocate takes space for n bytes at off without writing them, so that a full disk shows here and not at a sync. A
// file system that cannot do it is no error.
func allocate(f *os.File, off, n int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, off, n)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return nil
	}
	return err
}

// punch gives the blocks of n bytes of f at off back to the file system. They read as zeros then.
func punch(f *os.File, off, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

// firstHole returns the first byte of f that has no block, its size if there is none, or 0 if that is not known.
func firstHole(f *os.File) int64 {
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
