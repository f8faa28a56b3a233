//go:build unix

package ownfile

import (
	"io/fs"
	"os"
	"syscall"
)

// Owned reports whether what info describes belongs to this user.
func Owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}
