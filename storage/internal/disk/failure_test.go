package disk

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// A limit of the process that was not waited out ends the store too, but nobody is sent to mend the disk.
func TestALimitIsNoFaultOfTheDisk(t *testing.T) {
	for _, c := range []struct {
		err  syscall.Errno
		disk bool
	}{{syscall.EMFILE, false}, {syscall.ENFILE, false}, {syscall.ENOMEM, false}, {syscall.EIO, true}} {
		err := NewFailure().Fail(&fs.PathError{Op: "open", Path: "redo", Err: c.err})
		if !errors.Is(err, ErrFailed) || strings.Contains(err.Error(), "mend the disk") != c.disk ||
			strings.Contains(err.Error(), "raise LimitNOFILE") == c.disk {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
