package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrDiffers: the state in the directory was found to differ from that of a majority of the voters. The node must not
// be started on this directory again.
var ErrDiffers = errors.New("state that differs from that of the other nodes")

// differsName is the file that says so. It is text, for people.
const differsName = "differs"

// maxDiffers bounds how much of that file is read.
const maxDiffers = 4 << 10

// MarkDiffers makes it durable that the state in the directory differs from that of a majority; what says in one line
// where. From then on Open refuses the directory, also when Options.Offline is set, with ErrDiffers and that line. The
// mark is a file of its own, because nothing else in the directory is wrong for this node: whoever must may remove it.
func (s *Store) MarkDiffers(what string) error {
	path := s.differsPath()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cannotWrite(path, err)
	}
	defer f.Close()
	if _, err := f.WriteString(what + "\n"); err != nil {
		return cannotWrite(path, err)
	}
	if err := f.Sync(); err != nil {
		return cannotSync(path, err)
	}
	if err := syncDir(s.dir); err != nil {
		return cannotSync(s.dir, err)
	}
	return nil
}

func (f files) differsPath() string { return filepath.Join(f.dir, differsName) }

// refuseDiffers returns an error if the directory is marked. A mark that a crash has left empty counts.
func (f files) refuseDiffers() error {
	path := f.differsPath()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cannotOpen(path, err)
	}
	what, _, _ := strings.Cut(string(text[:min(len(text), maxDiffers)]), "\n")
	return fmt.Errorf("%w: %s says: %s; rebuild it from the others with kvnode rejoin, or replace the node", ErrDiffers,
		path, what)
}
