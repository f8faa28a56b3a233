package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// DataSync makes the content of f durable.
func DataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
