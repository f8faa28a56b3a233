package storage

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
)

// write commits and checkpoints values of 100 kB under numbered keys; a nil value deletes.
func write(t *testing.T, s *Store, from, to int, value []byte) {
	t.Helper()
	for i := from; i < to; i += 5 {
		slot := int(s.Durable().Last) + 1
		f := &listed{Slot: uint64(slot)}
		for j := i; j < min(i+5, to); j++ {
			f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", j),
				Value: value})
		}
		must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(slot, 1, string(value))},
			Truncate: s.Checkpointed()}}))
		must(t, checkpoint(s, f))
	}
	must(t, s.Refresh())
}

// On a file system of 64 MiB the reserve leaves space to work, begins while there is some left, and heals by deletes,
// though bbolt never makes a file smaller.
func TestReserveOfASmallFileSystemHeals(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := open(t, dir, Options{})
	if u := s.Usage(); u.Low || u.ReserveBytes != 8<<20 || u.LogFileBytes < 3<<20 || u.LogFileBytes > 4<<20 {
		t.Fatalf("%+v", u)
	}
	value := []byte(strings.Repeat("x", 100_000))
	n := 0
	for ; !s.Usage().Low; n += 5 {
		if n > 1000 {
			t.Fatalf("100 MB later: %+v", s.Usage())
		}
		write(t, s, n, n+5, value)
	}
	if n < 200 || s.Usage().Full {
		t.Fatalf("low after %d values: %+v", n, s.Usage())
	}
	s = reopen(t, s)
	if !s.Usage().Low {
		t.Fatalf("not low any more after a restart: %+v", s.Usage())
	}
	before := s.Usage()
	for i := 0; s.Usage().Low; i += 5 {
		if i >= n {
			t.Fatalf("all deleted, and still %+v", s.Usage())
		}
		write(t, s, i, i+5, nil)
	}
	if u := s.Usage(); u.StateBytes >= before.StateBytes || u.StateFileBytes < before.StateFileBytes {
		t.Errorf("%+v after %+v", u, before)
	}
	must(t, s.Verify(t.Context()))
}

func TestQuotaHeals(t *testing.T) {
	s := open(t, t.TempDir(), Options{LogInitialBytes: 64 << 10, QuotaBytes: 3 << 20})
	value := []byte(strings.Repeat("x", 100_000))
	write(t, s, 0, 30, value)
	if u := s.Usage(); !u.Low || u.QuotaBytes != 3<<20 {
		t.Fatalf("%+v", u)
	}
	write(t, s, 0, 20, nil)
	if u := s.Usage(); u.Low {
		t.Fatalf("%+v", u)
	}
}

func TestNoSpaceForANewStore(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	_, err := Open(dir, Options{})
	wantError(t, err, ErrTooSmall, "524288 bytes", "needs one of 50331648", "larger")
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("%v was left behind", entries)
	}
}

// A disk that was filled by somebody else keeps a store from starting only when there is no space for its start record.
func TestNoSpaceForAnOldStore(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := open(t, dir, Options{LogInitialBytes: 512 << 10, ReserveBytes: 1 << 20})
	filler, err := os.Create(dir + "/filler")
	must(t, err)
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 64<<10))
	}
	s = reopen(t, s)
	if u := s.Usage(); !u.Low {
		t.Fatalf("%+v", u)
	}
	must(t, s.Start(StartRecord{Restart: 1}))
	fill(t, s, 1, 100)
}

// A page of log.db that has no block on the disk would need space inside a commit.
func TestNewLogHasNoHoles(t *testing.T) {
	s := open(t, t.TempDir(), Options{LogInitialBytes: 1 << 20})
	if err := s.log.File().Sync(); err != nil {
		t.Fatal(err)
	}
	size, err := disk.Size(s.log.File())
	must(t, err)
	if hole, err := s.log.File().Seek(0, 4); err == nil && hole != size { // SEEK_HOLE
		t.Errorf("a hole at %d of %d", hole, size)
	}
}

func TestReserveIsWhatTheOptionSays(t *testing.T) {
	s := open(t, t.TempDir(), Options{LogInitialBytes: 64 << 10, JournalBytes: acceptor.MinJournalBytes,
		ReserveBytes: 3 << 20})
	if u := s.Usage(); u.ReserveBytes != 3<<20 {
		t.Errorf("%+v", u)
	}
}
