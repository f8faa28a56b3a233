package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tenure/internal/lostfound"
	"tenure/internal/oslimit"
	"tenure/internal/ownfile"
	"tenure/storage/internal/disk"
)

// prepareDir makes sure that dir is a directory that only this user can enter, creating it if need be. It changes
// nothing of a directory that is neither empty nor a node's.
func prepareDir(dir string) error {
	d, err := oslimit.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); errors.Is(err, syscall.EROFS) {
			return disk.CannotOpen(dir, err)
		} else if err != nil {
			return disk.Unusable("cannot create %s: %w; create it yourself or choose another directory",
				dir, disk.Plain(err))
		}
		d, err = oslimit.Open(dir)
	}
	if err != nil {
		return disk.Unusable("cannot look at %s: %w; check the path and its permissions", dir, disk.Plain(err))
	}
	defer d.Close() // nothing is written to it
	info, err := d.Stat()
	switch {
	case err != nil:
		return disk.Unusable("cannot look at %s: %w; check the path and its permissions", dir, disk.Plain(err))
	case !info.IsDir():
		return disk.Unusable("%s is not a directory; choose another path for the data", dir)
	}
	private := info.Mode().Perm()&0o077 == 0
	empty, err := ofANode(d, !private)
	if err != nil || private {
		return err
	}
	if info.Mode()&fs.ModeSticky != 0 && !empty { // an empty one may be a new tmpfs
		return disk.Unusable("%s is a directory for the files of all users (mode %04o), and is left as it is; "+
			"name a directory in it with --data", dir, info.Mode().Perm()|0o1000)
	}
	if err := d.Chmod(0o700); errors.Is(err, syscall.EROFS) {
		return disk.CannotOpen(dir, err)
	} else if err != nil {
		return disk.Unusable("%s can be entered by other users (mode %04o) and that cannot be changed: %w; "+
			"run: chmod 700 %s",
			dir, info.Mode().Perm(), disk.Plain(err), dir)
	}
	return nil
}

// ofANode returns an error unless the directory is empty or has a file of a node: of one that this user runs, if owned
// is set. Where others may make files, a name alone says nothing.
func ofANode(d *os.File, owned bool) (empty bool, err error) {
	entries, err := d.ReadDir(-1)
	if err != nil {
		return false, disk.Unusable("cannot look into %s: %w; check its permissions", d.Name(), disk.Plain(err))
	}
	entries = slices.DeleteFunc(entries, lostfound.Is)
	for _, e := range entries {
		if purposes[e.Name()] == "" {
			continue
		}
		if info, err := e.Info(); err == nil && (!owned || info.Mode().IsRegular() && ownfile.Owned(info)) {
			return false, nil
		}
	}
	if len(entries) == 0 {
		return true, nil
	}
	return false, disk.Unusable("%s has files that are not of a node of this user, such as %s, and is left as it is; "+
		"name an empty directory, or a new one, with --data", d.Name(), entries[0].Name())
}

// checkOwner refuses a directory of another user: the owner could not open what this process makes there. Whoever opens
// or creates something in a directory asks it first.
func checkOwner(dir string) error {
	if err := ownfile.CheckDir(dir); err != nil {
		return disk.Unusable("%w", err)
	}
	return nil
}

// lockDir takes the lock of dir. The lock goes with the open file, so that it never outlives the process.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := oslimit.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, disk.CannotOpen(path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, disk.Unusable("cannot lock %s: %w; the file system must support flock", path, err)
		}
		return nil, fmt.Errorf("%w: %s is held by %s; stop that process or choose another directory",
			ErrInUse, dir, holder(f))
	}
	return f, nil
}

// signLock writes this process's number into the lock file. It only says who to ask.
func signLock(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return disk.CannotWrite(f.Name(), err)
	}
	// Only a hint for people, so that a full disk must not keep a node from starting.
	f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return nil
}

// holder names the process in a lock file.
func holder(f *os.File) string {
	var buf [32]byte
	n, _ := f.ReadAt(buf[:], 0)
	if pid := strings.TrimSpace(string(buf[:n])); pid != "" {
		return "process " + pid
	}
	return "another process"
}

// plainFiles returns an error if something else has the name of a node's file: opening a pipe waits for ever, and what
// is behind a link is perhaps somebody else's. Nobody else can put one there later, since only this user enters the
// directory.
func plainFiles(f disk.Files) error {
	for _, name := range slices.Sorted(maps.Keys(purposes)) {
		path := filepath.Join(f.Dir, name)
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return disk.Unusable("%s is not a plain file; move it out of the directory", path)
		}
	}
	return nil
}
