package acceptor

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/internal/faultfs"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

// growing are options of a log that grows by little.
var growing = Options{
	InitialBytes: 64 << 10, JournalBytes: MinJournalBytes, GrowBytes: 2 * zeroChunkBytes,
}

func TestLogGrowsByWhatTheOptionSays(t *testing.T) {
	s := open(t, t.TempDir(), growing)
	before, err := disk.Size(s.file)
	must(t, err)
	must(t, s.growAhead(s.closing, s.usage))
	after, err := disk.Size(s.file)
	must(t, err)
	if after != before+growing.GrowBytes {
		t.Errorf("%d bytes became %d", before, after)
	}
}

// A failed sync may have lost data: the store ends, even between two commits.
func TestGrowingEndsWithTheDisk(t *testing.T) {
	fs, path := disktest.MountFaults(t)
	f, err := os.Create(path)
	must(t, err)
	s := open(t, t.TempDir(), growing)
	s.mu.Lock()
	log := s.file
	s.file = f // bbolt's own stays where it is: a map of what this process serves could stop it
	s.mu.Unlock()
	fs.SetError(faultfs.Sync, syscall.EIO)
	wake(s.grow)
	select {
	case <-s.failure.Ended():
		wantError(t, s.failure.Err(), disk.ErrFailed, s.files.LogPath(), "grow the file", syscall.EIO.Error())
	case <-time.After(10 * time.Second):
		t.Error("the store goes on")
	}
	must(t, s.Close())
	must(t, log.Close())
}

// Free pages of log.db that lie apart are no space for a large entry: bbolt makes the file longer. A move then takes
// what the reserve has, and no more than it needs.
func TestAMoveTakesTheReserve(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "96m")
	o := calm
	o.InitialBytes, o.JournalBytes = 4<<20, 5<<20
	o.GrowBytes = 1 // only bbolt makes the file longer
	s := open(t, dir, o)
	const value, kept = 300_000, 6
	for i := range 12 {
		commit(t, s, entry(i+1, 1, strings.Repeat("v", value)))
	}
	must(t, s.Flush())
	s.checkpointed = kept
	must(t, s.Commit([]multipaxos.Persist{{Truncate: kept}}))
	must(t, s.Flush())
	commit(t, s, entry(13, 1, "what was truncated is free for the next transaction"))
	must(t, s.Flush())
	free, err := s.Measure()
	must(t, err)
	held := s.account.Reserve.Held()
	disktest.Fill(t, dir, 0)
	size := free.Reusable - 200_000 // as a whole it would fit
	if s.solid-s.logHigh >= size {
		t.Fatalf("%d bytes are free in log.db, %d of them at its end: the test proves nothing", free.Reusable,
			s.solid-s.logHigh)
	}
	commit(t, s, entry(14, 1, strings.Repeat("w", int(size))))
	must(t, s.Flush())
	must(t, s.failure.Err())
	if given := held - s.account.Reserve.Held(); given <= 0 || given > 2*size {
		t.Errorf("%d bytes of the reserve were given up for an entry of %d", given, size)
	}
	unused, err := s.account.Reserve.Unused()
	must(t, err)
	if p := disktest.Free(t, dir) + s.account.Reserve.Held() - unused; p != 0 {
		t.Errorf("%d bytes stay promised", p)
	}
	must(t, s.Close())
	s = open(t, dir, o)
	if got, err := s.Entries(14, 14, 1<<30); err != nil || len(got) != 1 || int64(len(got[0].Value)) != size {
		t.Errorf("%d entries, %v", len(got), err)
	}
}
