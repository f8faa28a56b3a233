package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
)

// ErrDiffers means that the state in the directory differs from that of a majority of the voters. No node may be
// started on this directory again.
var ErrDiffers = errors.New("state that differs from that of the other nodes")

// differsName is the file that marks such a directory. It is text, for people.
const differsName = "differs"

// maxDiffers bounds how much of that file is read.
const maxDiffers = 4 << 10

// MarkDiffers durably marks the directory: its state differs from that of a majority. The argument what is one line
// that says where. From then on Open fails with ErrDiffers and that line, also if Options.Offline is set. The mark is a
// file of its own, so that an operator who knows better can remove it.
func (s *Store) MarkDiffers(what string) error {
	path := differsPath(s.files)
	f, err := oslimit.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return disk.CannotWrite(path, err)
	}
	defer f.Close()
	if _, err := f.WriteString(what + "\n"); err != nil {
		return disk.CannotWrite(path, err)
	}
	if err := f.Sync(); err != nil {
		return disk.CannotSync(path, err)
	}
	if err := disk.SyncDir(s.files.Dir); err != nil {
		return disk.CannotSync(s.files.Dir, err)
	}
	return nil
}

func differsPath(f disk.Files) string { return filepath.Join(f.Dir, differsName) }

// refuseDiffers returns an error if the directory is marked. An empty mark, which a crash may leave, counts.
func refuseDiffers(f disk.Files) error {
	path := differsPath(f)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.CannotOpen(path, err)
	}
	what, _, _ := strings.Cut(string(text[:min(len(text), maxDiffers)]), "\n")
	return fmt.Errorf("%w: %s says: %s; rebuild it from the others with kvnode rejoin, or replace the node", ErrDiffers,
		path, what)
}
