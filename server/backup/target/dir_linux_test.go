package target

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asNobody makes the rest of the test access files as a user without privileges, on its thread alone.
func asNobody(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	must(t, syscall.Setfsuid(65534)) // which drops the capability to access all files
	t.Cleanup(func() {
		must(t, syscall.Setfsuid(0))
		runtime.UnlockOSThread()
	})
}

// The root of a file system has a directory lost+found, which only root may list.
func TestAUserListsTheRootOfAFileSystem(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to take another user")
	}
	root := t.TempDir()
	must(t, os.Chmod(filepath.Dir(root), 0o755))
	must(t, os.Mkdir(filepath.Join(root, "lost+found"), 0o700))
	must(t, os.Chown(root, 65534, -1))
	asNobody(t)
	x := opened(t, root)
	must(t, x.Put(t.Context(), "a/b", strings.NewReader("1")))
	if got := names(t, x, ""); strings.Join(got, " ") != "a/b" {
		t.Errorf("listed %q", got)
	}

	old := filepath.Join(root, "m", temporaryPrefix+"old"+temporarySuffix) // listed after lost+found
	must(t, os.Mkdir(filepath.Dir(old), 0o700))
	must(t, os.WriteFile(old, nil, 0o600))
	before := time.Now().Add(-2 * temporaryOld)
	must(t, os.Chtimes(old, before, before))
	must(t, opened(t, root).Put(t.Context(), "a/c", strings.NewReader("2")))
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a dead process stays: %v", err)
	}

	// Any other directory may contain objects: a list without them would be wrong.
	must(t, os.Mkdir(filepath.Join(root, "a", "lost+found"), 0))
	if list, err := x.List(t.Context(), ""); !errors.Is(err, ErrDenied) {
		t.Errorf("%v %v", list, err)
	}
}
