package disk

import (
	"errors"
	"io/fs"
	"os"

	"tenure/internal/oslimit"
)

// SyncDir makes the names in dir durable.
func SyncDir(dir string) error {
	d, err := oslimit.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Size returns the size of f in bytes.
func Size(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, CannotStat(f.Name(), err)
	}
	return info.Size(), nil
}

// Exists reports whether there is a file at path. Anything but a plain file is an error.
func Exists(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, CannotStat(path, err)
	case !info.Mode().IsRegular():
		return false, Unusable("%s is not a plain file; move it out of the directory", path)
	}
	return true, nil
}

// CloseFiles closes those files that are open.
func CloseFiles(files ...*os.File) error {
	var errs []error
	for _, f := range files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
