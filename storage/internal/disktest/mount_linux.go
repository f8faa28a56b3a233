package disktest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tenure/internal/faultfs"
)

// SmallFileSystem mounts a file system of that size, such as "64m", and returns its directory. It skips the test if
// this process may not mount.
func SmallFileSystem(t testing.TB, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// Free returns the free bytes of the file system of dir.
func Free(t testing.TB, dir string) int64 {
	t.Helper()
	var st syscall.Statfs_t
	Must(t, syscall.Statfs(dir, &st))
	return int64(st.Bavail) * st.Bsize
}

// Fill fills the file system of dir, with a file named filler, until left bytes are free.
func Fill(t testing.TB, dir string, left int64) {
	t.Helper()
	f, err := os.Create(dir + "/filler")
	Must(t, err)
	defer f.Close()
	Must(t, syscall.Fallocate(int(f.Fd()), 0, 0, Free(t, dir)-left))
}

// MountFaults mounts a file system whose disk can lose and refuse writes. It returns the path of a directory in it that
// does not exist yet, and skips the test where there is no FUSE.
func MountFaults(t testing.TB) (*faultfs.FS, string) {
	t.Helper()
	if err := faultfs.Available(); err != nil {
		t.Skip("no FUSE here: ", err)
	}
	mount := t.TempDir()
	f, err := faultfs.Mount(t.TempDir(), mount)
	Must(t, err)
	t.Cleanup(func() {
		if err := f.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return f, filepath.Join(mount, "data")
}
