package storage

import (
	"os"
	"syscall"
	"testing"
	"time"

	"tenure/internal/faultfs"
	"tenure/storage/internal/disk"
	"tenure/storage/pages"
)

// growing are options of a log that grows by little.
var growing = Options{
	LogInitialBytes: 64 << 10, JournalBytes: minJournalBytes, LogGrowBytes: 2 * zeroChunkBytes, ReserveBytes: 1 << 20,
}

func TestLogGrowsByWhatTheOptionSays(t *testing.T) {
	s := open(t, t.TempDir(), growing)
	before, err := disk.Size(s.log.file)
	must(t, err)
	must(t, s.log.growAhead(s.closing, func() (Usage, error) { return s.Usage(), s.Refresh() }))
	after, err := disk.Size(s.log.file)
	must(t, err)
	if after != before+growing.LogGrowBytes {
		t.Errorf("%d bytes became %d", before, after)
	}
}

// A failed sync may have lost data: the store ends, even between two commits.
func TestGrowingEndsWithTheDisk(t *testing.T) {
	fs, path := mountFaults(t)
	f, err := os.Create(path)
	must(t, err)
	s := open(t, t.TempDir(), growing)
	s.log.mu.Lock()
	log := s.log.file
	s.log.file = f // bbolt's own stays where it is: a map of what this process serves could stop it
	s.log.mu.Unlock()
	fs.SetError(faultfs.Sync, syscall.EIO)
	wake(s.log.grow)
	select {
	case <-s.failure.Ended():
		wantError(t, s.failure.Err(), ErrFailed, s.files.LogPath(), "grow the file", syscall.EIO.Error())
	case <-time.After(10 * time.Second):
		t.Error("the store goes on")
	}
	must(t, s.Close())
	must(t, log.Close())
}

// An identity that is not durable is none, and its caller knows.
func TestIdentityNeedsTheDisk(t *testing.T) {
	s := open(t, t.TempDir(), growing)
	must(t, pages.Intercept(s.log.db, func(pages.WriteAt) pages.WriteAt {
		return func([]byte, int64) (int, error) { return 0, syscall.EIO }
	}))
	wantError(t, s.SetNode(1), ErrFailed, s.files.LogPath(), "bind the directory", syscall.EIO.Error())
	if id := s.Identity(); id.Node != 0 {
		t.Errorf("%+v", id)
	}
}
