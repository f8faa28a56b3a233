package storage

import (
	"fmt"
	"runtime/debug"
)

// guard runs fn, which goes through a memory-mapped file. What bbolt panics about, and a fault on a page that the disk
// can no longer give, comes back as damage; fn must not contain code of the caller's, whose panics are its own.
func guard(file string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = damage(file, "%w", r)
		default:
			err = damage(file, "%s", fmt.Sprint(r))
		}
	}()
	return fn()
}
