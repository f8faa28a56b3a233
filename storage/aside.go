package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tenure/storage/internal/disk"
)

// SetAside moves all files in dir but LOCK, of a node that does not run, into a new directory of that name in dir.
// Directories stay, such as earlier ones of this kind. It refuses a directory with files and none of a node, and
// reports whether there was anything. A crash in its middle leaves files that no node starts on, and that the next
// SetAside moves (asideOrder).
func SetAside(dir, name string) (moved bool, err error) {
	if err := checkOwner(dir); err != nil {
		return false, err
	}
	d, err := os.Open(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, disk.Unusable("cannot look into %s: %w; check the path and its permissions", dir, disk.Plain(err))
	}
	_, err = ofANode(d, false)
	if err = errors.Join(err, d.Close()); err != nil {
		return false, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return false, disk.Unusable("cannot look into %s: %w; check the path and its permissions", dir, disk.Plain(err))
	}
	lock, err := lockDir(dir)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	steps := asideOrder(files)
	if len(steps) == 0 {
		return false, nil
	}
	aside := filepath.Join(dir, name)
	if err := os.Mkdir(aside, 0o700); err != nil {
		return false, disk.CannotWrite(aside, err)
	}
	for _, step := range steps {
		for _, name := range step {
			from := filepath.Join(dir, name)
			if err := os.Rename(from, filepath.Join(aside, name)); err != nil {
				return true, disk.Unusable("cannot move %s to %s: %w; check the directory's permissions", from, aside,
					disk.Plain(err))
			}
		}
		for _, d := range []string{aside, dir} {
			if err := disk.SyncDir(d); err != nil {
				return true, disk.CannotSync(d, err)
			}
		}
	}
	return true, nil
}

// asideOrder returns the names of the files to move, in steps. Each step is durable before the next one begins. The
// first step moves log.db, so that no node starts on the remaining files. The last one moves the mark of a state that
// differs, so that no node starts before log.db is gone.
func asideOrder(files []os.DirEntry) (steps [][]string) {
	var order [3][]string
	for _, f := range files {
		switch name := f.Name(); {
		case f.IsDir() || name == lockName:
		case name == disk.LogName:
			order[0] = append(order[0], name)
		case name == differsName:
			order[2] = append(order[2], name)
		default:
			order[1] = append(order[1], name)
		}
	}
	for _, names := range order {
		if len(names) > 0 {
			steps = append(steps, names)
		}
	}
	return steps
}
