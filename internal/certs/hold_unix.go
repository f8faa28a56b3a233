//go:build unix

package certs

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// holdWithin bounds how long Hold waits. Whoever holds a directory writes a few small files.
const holdWithin = 10 * time.Second

// Hold keeps other programs that call it from changing the directory of an authority, until release is called or this
// program ends. Call it before Open: what Open has read may have changed until then. It waits for another program, for
// some seconds. A directory that does not exist is held by nobody, and Open says that it is not there.
func Hold(path string) (release func(), err error) {
	d, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(holdWithin); ; time.Sleep(10 * time.Millisecond) {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = d.Close() }, nil // it was only read
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), d.Close())
		case time.Now().After(end):
			return nil, errors.Join(fmt.Errorf("another program has been changing %s for %v: nothing was done: end it, and "+
				"try again", path, holdWithin), d.Close())
		}
	}
}
