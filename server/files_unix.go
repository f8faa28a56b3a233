//go:build unix

package server

import "golang.org/x/sys/unix"

// openFiles returns how many files this process may have open, 0 if the system does not say. Go has raised it as far as
// it may.
func openFiles() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return uint64(r.Cur)
}
