package recovery

import (
	"errors"
	"os"
	"syscall"
)

// alone makes dir, if it is not there, and returns it locked, as one that is still as mustBeEmpty wants it. The lock is
// on the directory itself, so that it leaves no file there, and ends with the file or with the process.
func alone(dir string) (lock *os.File, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, refuse("cannot make %s: %w; name another directory with --data", dir, err)
	}
	lock, err = os.Open(dir)
	if err != nil {
		return nil, refuse("cannot open %s: %w; name another directory with --data", dir, err)
	}
	defer func() {
		if err != nil {
			lock.Close() // which held nothing that was written
		}
	}()
	switch err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, refuse("another restore or recovery is making its files in %s; let it end, or name another "+
			"directory with --data", dir)
	case err != nil:
		return nil, refuse("cannot lock %s: %w; name a directory with --data on a file system that supports flock",
			dir, err)
	}
	return lock, mustBeEmpty(dir)
}
