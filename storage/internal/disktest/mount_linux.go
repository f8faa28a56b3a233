package disktest

import (
	"os"
	"syscall"
	"testing"
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
