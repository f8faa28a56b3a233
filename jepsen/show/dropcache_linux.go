package show

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCache asks the kernel to forget what it has of f. It need not.
func dropCache(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
