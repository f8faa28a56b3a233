package target

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tenure/internal/faultfs"
)

// crashDisk returns a directory of a file system that forgets what was not synced.
func crashDisk(t *testing.T) (fs *faultfs.FS, dir string) {
	t.Helper()
	if err := faultfs.Available(); err != nil {
		t.Skip(err)
	}
	disk, mount := t.TempDir(), t.TempDir()
	fs, err := faultfs.Mount(disk, mount)
	must(t, err)
	t.Cleanup(func() { must(t, fs.Unmount()) })
	return fs, mount
}

// TestACrashLeavesWholeObjects stops the machine after each change that Put makes in the file system. An earlier object
// is there, or its replacement. Every acknowledged object is there. No listed object is truncated.
//
// To see it fail: rename before the sync in writeWhole, leave out the sync of the directory there, or of those in
// mkdir.
func TestACrashLeavesWholeObjects(t *testing.T) {
	fs, root := crashDisk(t)
	content := func(n int) string { return strings.Repeat(fmt.Sprintf("%07d\n", n), 5000) }
	for n, halted := 1, true; halted; n++ {
		acknowledged := map[string]string{}
		put := func(x Target, name string) {
			if err := x.Put(t.Context(), name, strings.NewReader(content(n))); err == nil {
				acknowledged[name] = content(n)
			}
		}
		sub := fmt.Sprintf("d%d", n)
		put(opened(t, root), "kept")
		if len(acknowledged) != 1 {
			t.Fatal("nothing was put before the crash")
		}
		done := fs.Halt(n)
		x := opened(t, root)
		for _, name := range []string{"kept", sub + "/a/new", sub + "/a/other", sub + "/last"} {
			put(x, name)
		}
		select {
		case <-done:
		default:
			halted = false
		}
		_, err := fs.Crash(faultfs.Loss{Seed: uint64(n)})
		must(t, err)
		x = opened(t, root)
		for _, name := range names(t, x, "") {
			if text := get(t, x, name); len(text) != len(content(0)) || text != strings.Repeat(text[:8], 5000) {
				t.Errorf("crash after %d changes: %s has %d bytes", n, name, len(text))
			}
		}
		for name, want := range acknowledged {
			r, err := x.Get(t.Context(), name)
			if err != nil {
				t.Errorf("crash after %d changes: lost: %v", n, err)
				continue
			}
			b, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil || string(b) != want {
				t.Errorf("crash after %d changes: %s is %.8q %v", n, name, b, err)
			}
		}
	}
}

// TestAnErrorOfTheDiskFailsPut: whatever operation fails, and for whatever reason, Put says so and leaves nothing.
func TestAnErrorOfTheDiskFailsPut(t *testing.T) {
	fs, root := crashDisk(t)
	x := opened(t, root)
	must(t, x.Put(t.Context(), "a", strings.NewReader("before")))
	for op, errno := range map[faultfs.Op]syscall.Errno{
		faultfs.Create: syscall.ENOSPC, faultfs.Write: syscall.ENOSPC, faultfs.Sync: syscall.EIO,
		faultfs.Rename: syscall.EROFS,
	} {
		fs.SetError(op, errno)
		err := x.Put(t.Context(), "a", strings.NewReader("after"))
		fs.SetError(op, 0)
		var kind error = errno
		switch errno {
		case syscall.ENOSPC:
			kind = ErrFull
		case syscall.EROFS:
			kind = ErrDenied
		}
		if !errors.Is(err, kind) {
			t.Errorf("operation %d: %v", op, err)
		}
		if text := get(t, x, "a"); text != "before" {
			t.Errorf("operation %d: %q", op, text)
		}
		if left, err := filepath.Glob(filepath.Join(root, ".*")); len(left) != 0 {
			t.Errorf("operation %d: %q %v", op, left, err)
		}
	}
	if files, err := os.ReadDir(root); len(files) != 1 {
		t.Errorf("%v %v", files, err)
	}
}
