//go:build linux && (amd64 || arm64)

package acceptor

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tenure/internal/faultfs"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

func tempFile(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// asynchronousSyncer is past its first sync.
func asynchronousSyncer(t *testing.T, f *os.File) *syncer {
	t.Helper()
	s := newSyncer(f)
	t.Cleanup(s.Close)
	for i := range 2 {
		if s.phase == asynchronous {
			t.Errorf("it holds a context before sync %d", i)
		}
		must(t, s.Sync())
	}
	if s.phase != asynchronous {
		t.Skip("this kernel or sandbox has no asynchronous I/O")
	}
	return s
}

func TestSyncerIsAsynchronousAndGoesOnPlainly(t *testing.T) {
	f := tempFile(t)
	s := asynchronousSyncer(t, f)
	for range 3 {
		if _, err := f.WriteAt([]byte("text"), 0); err != nil {
			t.Fatal(err)
		}
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if s.phase != asynchronous {
		t.Error("it fell back to plain calls on a file of a directory for tests")
	}
	for range 2 {
		s.Close()
		if err := s.Sync(); err != nil || s.phase != plainly {
			t.Errorf("after Close: %v, phase %d", err, s.phase)
		}
	}
}

// A descriptor that cannot be synced gives the error that the plain call gives, from both ways.
func TestSyncerTellsErrors(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := newSyncer(w)
	defer s.Close()
	for range 4 {
		if err := s.Sync(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("sync of a pipe: %v, want %v", err, syscall.EINVAL)
		}
	}
}

// The error of a disk comes back with the event, and is that of this sync alone.
func TestSyncerTellsErrorsOfTheDisk(t *testing.T) {
	fs, dir := disktest.MountFaults(t)
	must(t, os.Mkdir(dir, 0o700))
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := asynchronousSyncer(t, f)
	for _, errno := range []syscall.Errno{0, syscall.EIO, 0, syscall.ENOSPC} {
		fs.SetError(faultfs.Sync, errno)
		if err := s.Sync(); errno == 0 && err != nil || errno != 0 && !errors.Is(err, errno) {
			t.Errorf("the disk says %q, the sync %v", errno, err)
		}
	}
	if s.phase != asynchronous {
		t.Error("it fell back to plain calls")
	}
}

func BenchmarkSync(b *testing.B) {
	f := tempFile(b)
	if err := zeroFill(f, 1<<20); err != nil {
		b.Fatal(err)
	}
	sector := make([]byte, 512)
	for name, sync := range map[string]func() error{"asynchronous": newSyncer(f).Sync,
		"plain": func() error { return disk.DataSync(f) }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _, err := f.WriteAt(sector, int64(i%2048)*512); err != nil {
					b.Fatal(err)
				}
				if err := sync(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
