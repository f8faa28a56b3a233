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
