package cluster

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The requests of fsfreeze(8), which package unix does not name: _IOWR('X', 119, int) and _IOWR('X', 120, int).
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// Freeze stops node id's file system: every write and every sync waits from now on, for ever if need be, and reads go
// on. A process that waits for it cannot die, whatever it is sent: Thaw it first.
func (s *SmallDisks) Freeze(id int) error { return s.freeze(id, fiFreeze) }

// Thaw lets it go on. Thawing one that is not frozen is no error.
func (s *SmallDisks) Thaw(id int) error {
	if err := s.freeze(id, fiThaw); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

func (s *SmallDisks) freeze(id int, request uint) error {
	d, err := os.Open(s.path(id))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := unix.IoctlSetInt(int(d.Fd()), request, 0); err != nil {
		return fmt.Errorf("freeze or thaw %s: %w", s.path(id), err)
	}
	return nil
}
