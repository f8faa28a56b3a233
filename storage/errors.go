package storage

import (
	"errors"
	"fmt"
	"os"
)

// Errors that those of this package wrap. Each message is one line that says what is wrong and how to mend it.
var (
	// ErrDamaged: data on the disk is not the data that was written, or a part is missing. No damaged data was
	// returned. The node must stop, and must not be started on this directory again.
	ErrDamaged = errors.New("damaged storage")
	// ErrFailed: a write or sync failed inside a transaction, so that what is durable is not known. Every later call
	// fails with the first error; the process must end, and a new one finds out what the disk holds.
	ErrFailed = errors.New("storage failed")
	// ErrInUse: another process has the directory.
	ErrInUse = errors.New("data directory in use")
	// ErrUnusable: the directory cannot be used as it is: not a directory, not writable, or no space.
	ErrUnusable = errors.New("data directory unusable")
	// ErrTooSmall: the file system is too small to keep the reserve. Nothing was touched.
	ErrTooSmall = errors.New("file system too small")
	// ErrOtherNode: the directory, or a file in it, belongs to another node.
	ErrOtherNode = errors.New("data of another node")
	// ErrCopied: the directory is a copy of the one that the node wrote.
	ErrCopied = errors.New("copied data directory")
	// ErrFormed: the store has accepted a bootstrap already, and accepts only one.
	ErrFormed = errors.New("already formed")
	// ErrRefused: a record that would break a rule was asked for; nothing was written.
	ErrRefused = errors.New("refused")
	// ErrInterrupted: a checkpoint was not made, or not to its end, because of Interrupt. The store goes on.
	ErrInterrupted = errors.New("interrupted")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("storage closed")
)

// errBadRecord and errBadPage mark damage found inside a transaction, which write turns into ErrDamaged.
var (
	errBadRecord = errors.New("a record that is not what was written")
	errBadPage   = errors.New("a page that is not what was written")
)

const replaceNode = "take this node out of service and replace it; do not start it on this directory again"

// damage returns an error about the content of a file; what says which record or page.
func damage(file, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w; %s", ErrDamaged, file, fmt.Errorf(format, args...), replaceNode)
}

// unusable returns an error about the directory; the text names the file and says what to do.
func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnusable, fmt.Errorf(format, args...))
}

// The errors below are those of system calls on a file of the directory.

func cannotOpen(path string, err error) error {
	return unusable("cannot open %s: %w; make it readable and writable for user %d", path, plain(err), os.Getuid())
}

func cannotStat(path string, err error) error {
	return unusable("cannot look at %s: %w; check its permissions and the disk", path, plain(err))
}

func cannotWrite(path string, err error) error {
	return unusable("cannot write %s: %w; check the disk", path, plain(err))
}

func cannotSync(path string, err error) error {
	return unusable("cannot sync %s: %w; check the disk", path, plain(err))
}
