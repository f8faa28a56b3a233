package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// SetAside moves everything in dir, of a node that does not run, into a new directory of that name in dir, except for
// directories: earlier ones of this kind, for one. It reports whether there was anything. A crash in its middle leaves
// files that no node starts on, and that the next SetAside moves.
func SetAside(dir, name string) (moved bool, err error) {
	files, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, unusable("cannot look into %s: %w; check the path and its permissions", dir, plain(err))
	}
	lock, err := lockDir(dir)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	aside := filepath.Join(dir, name)
	for _, f := range files {
		if f.IsDir() || f.Name() == lockName {
			continue
		}
		if !moved {
			if err := os.Mkdir(aside, 0o700); err != nil {
				return false, cannotWrite(aside, err)
			}
			moved = true
		}
		path := filepath.Join(dir, f.Name())
		if err := os.Rename(path, filepath.Join(aside, f.Name())); err != nil {
			return moved, unusable("cannot move %s to %s: %w; check the directory's permissions", path, aside, plain(err))
		}
	}
	if !moved {
		return false, nil
	}
	for _, d := range []string{aside, dir} {
		if err := syncDir(d); err != nil {
			return moved, cannotSync(d, err)
		}
	}
	return moved, nil
}
