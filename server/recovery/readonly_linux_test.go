package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// After an error of its disk a file system is often read-only. Each command reports that, and does not claim that the
// files belong to no node.
func TestOnAReadOnlyFileSystem(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("cannot mount a file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	data := filepath.Join(dir, "data")
	w.must(os.CopyFS(data, os.DirFS(w.make(2, checked))))
	w.must(syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if f, err := FormerOf(data); !errors.Is(err, syscall.EROFS) {
		t.Errorf("%+v %v", f, err)
	}
	if _, err := Make([]string{data}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "A copy of the directory") {
		t.Errorf("a plan: %v", err)
	}
	if r, err := Check(data); err != nil || !r.Sound {
		t.Errorf("a check: %+v %v", r, err)
	}
	_, err := whole(filepath.Join(dir, "new"), func(string) (Result, error) { panic("it goes on") })
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "name another directory with --data") {
		t.Errorf("a restore: %v", err)
	}
}
