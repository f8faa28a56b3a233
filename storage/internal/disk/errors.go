// Package disk is what the parts of storage share and none of them owns. It imports no other part.
//
//	the first failure, which ends the store          failure.go
//	how bbolt is called                              bolt.go
//	errors about files that say how to mend them     errors.go
//	the paths of a data directory                    files.go
//	syncs and sizes, and calls of one system         file.go, sys_*.go
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tenure/internal/ownfile"
	"tenure/internal/shown"
)

// Errors of package storage, which documents them.
var (
	ErrDamaged   = errors.New("damaged storage")
	ErrFailed    = errors.New("storage failed")
	ErrUnusable  = errors.New("data directory unusable")
	ErrOtherNode = errors.New("data of another node")
	ErrRefused   = errors.New("refused")
	ErrClosed    = errors.New("storage closed")
)

// Damage that is found inside a transaction, before it is durable. Failure.Write makes it ErrDamaged.
var (
	ErrBadRecord = errors.New("a record that is not what was written")
	ErrChanged   = errors.New("a page that is not what was written")
)

const replaceNode = "take this node out of service and replace it; do not start it on this directory again"

// Damaged returns an error about the content of a file, which wraps ErrDamaged. The text names the record or page.
func Damaged(file, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w; %s", ErrDamaged, file, fmt.Errorf(format, args...), replaceNode)
}

// Unusable returns an error about the directory, which wraps ErrUnusable. The text names the file and says what to do.
func Unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnusable, fmt.Errorf(format, args...))
}

// CannotOpen returns err, of opening the file at path, as one that wraps ErrUnusable.
func CannotOpen(path string, err error) error {
	me := ownfile.UserName(os.Geteuid())
	owner, other := ownfile.Owner(path)
	switch {
	case other && errors.Is(err, fs.ErrPermission):
		return Unusable("cannot open %s: %w; it belongs to user %s: type as root: chown -R %s: %s", path, Plain(err), owner,
			me, shown.Word(filepath.Dir(path)))
	case errors.Is(err, syscall.EROFS):
		return Unusable("cannot write %s: %w; have its file system mounted for writing, or choose another directory", path,
			Plain(err))
	case owner == "":
		return Unusable("cannot create %s: %w; make %s writable for user %s, or choose another directory", path, Plain(err),
			filepath.Dir(path), me)
	}
	return Unusable("cannot open %s: %w; make it readable and writable for user %s", path, Plain(err), me)
}

// CannotStat returns err, of looking at the file at path, as one that wraps ErrUnusable.
func CannotStat(path string, err error) error {
	return Unusable("cannot look at %s: %w; check its permissions and the disk", path, Plain(err))
}

// CannotWrite returns err, of writing the file at path, as one that wraps ErrUnusable.
func CannotWrite(path string, err error) error {
	return Unusable("cannot write %s: %w; check the disk", path, Plain(err))
}

// CannotSync returns err, of syncing the file at path, as one that wraps ErrUnusable.
func CannotSync(path string, err error) error {
	return Unusable("cannot sync %s: %w; check the disk", path, Plain(err))
}

// Plain returns the cause of err without the path, which the caller names.
func Plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
