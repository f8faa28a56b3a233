//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tenure/client"
	"tenure/internal/ownfile"
)

func (x *backupCreate) toFile(ctx context.Context, c *client.Client, file string) error {
	var out backupJSON
	err := writeFile(file, x.force, func(w io.Writer) (err error) {
		out, err = x.receive(ctx, c, w)
		return err
	})
	if err != nil {
		return err
	}
	out.File = file
	return x.print(out, out.text)
}

// writeFile makes a file of what write writes. The file gets its name when it is whole and synced; until then it is
// called file.partial.
func writeFile(file string, force bool, write func(io.Writer) error) error {
	if err := mayWrite(file, force); err != nil {
		return err
	}
	f, err := openPartial(file + ".partial")
	if err != nil {
		return err
	}
	defer f.Close() // Close releases the lock, so only after the rename
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = mayWrite(file, force)
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(file))
}

// mayWrite refuses an existing file without force. It always refuses a device, a pipe or a link: replacing it would
// destroy it.
func mayWrite(file string, force bool) error {
	if file == "" {
		return usage("the name of the file is empty: give one, or - for standard output")
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.Mode().IsRegular():
		return usage("%s is no regular file, and is kept; to write into it, give - and direct standard output there",
			file)
	case !force:
		return usage("%s is there already, and kept; --force replaces it", file)
	}
	return nil
}

// openPartial makes and locks a file, so that no other kvctl writes to it. It replaces only the file of a killed kvctl.
// Through somebody's link it would overwrite another file, and anybody who has an existing file open could read the
// backup.
func openPartial(name string) (*os.File, error) {
	left, err := lockLeftover(name)
	if err != nil {
		return nil, err
	}
	if left != nil {
		defer left.Close() // its lock lasts until the new file has one
	}
	f, err := ownfile.Create(name, os.O_WRONLY)
	if errors.Is(err, fs.ErrExist) {
		err = beingWritten(name)
	}
	if err != nil {
		return nil, err
	}
	if err := lockPartial(f, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockLeftover locks the file that a killed kvctl has left, nil if there is none.
func lockLeftover(name string) (*os.File, error) {
	err := ownfile.Check(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := ownfile.Open(name, os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	if err := lockPartial(f, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func lockPartial(f *os.File, name string) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return beingWritten(name)
	}
	if err != nil {
		return err
	}
	return isStill(f, name) // it may have been renamed or removed before the lock
}

func beingWritten(name string) error { return fmt.Errorf("%s is being written by another kvctl", name) }

// isStill returns an error unless name is still the name of f.
func isStill(f *os.File, name string) error {
	own, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(name); err != nil || !os.SameFile(own, now) {
		return fmt.Errorf("%s was being written by another kvctl", name)
	}
	return nil
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
