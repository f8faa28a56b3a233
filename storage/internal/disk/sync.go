package disk

import (
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
