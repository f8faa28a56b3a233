// Package lostfound lists directories without the directory lost+found, which mkfs makes in the root of ext2, ext3 and
// ext4 file systems. A directory with nothing else in it is the root of a new file system, and counts as empty.
package lostfound

import (
	"io/fs"
	"os"
	"slices"
)

// Name is the name of the directory. Only root may list it.
const Name = "lost+found"

// Is reports whether e is the directory that mkfs makes. A file of that name is somebody's.
func Is(e fs.DirEntry) bool { return e.IsDir() && e.Name() == Name }

// ReadDir is os.ReadDir, without the directory lost+found.
func ReadDir(dir string) ([]fs.DirEntry, error) {
	all, err := os.ReadDir(dir)
	return slices.DeleteFunc(all, Is), err
}
