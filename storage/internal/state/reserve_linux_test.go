package state

import (
	"errors"
	"os"
	"sync"
	"testing"

	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
	"tenure/storage/internal/pages"
)

// Open asks for space once: all of the reserve is to be had then.
func TestOpenTakesWhatTheReserveHas(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	s := open(t, dir, small)
	disktest.Fill(t, dir, 64<<10)
	s.room.opened.Store(false)
	need := s.room.space.Reserve.Held() + 64<<10 - 5
	promised, err := s.room.awaitSpace(s.files.StatePath(), func() (int64, error) { return need, nil })
	must(t, err)
	s.room.space.Reserve.Fulfilled(promised)
	_, err = s.room.awaitSpace(s.files.StatePath(), func() (int64, error) { return 1 << 30, nil })
	if !errors.Is(err, errNoSpace) {
		t.Fatal(err)
	}
}

// A restore does not wait for somebody to make space: it would seem to hang.
func TestFailWithoutSpace(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	o := small
	o.FailWithoutSpace = true
	s := open(t, dir, o)
	_, err := s.room.awaitSpace(s.files.StatePath(), func() (int64, error) { return 1 << 30, nil })
	if !errors.Is(err, errNoSpace) || !errors.Is(err, disk.ErrUnusable) {
		t.Fatal(err)
	}
}

// Others take what was promised while the pages of a checkpoint are written: they get blocks of the reserve.
func TestACheckpointInsistsOnWhatItWasPromised(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	s := open(t, dir, small)
	held := s.room.space.Reserve.Held()
	var full sync.Once
	must(t, pages.Intercept(s.db, func(write pages.WriteAt) pages.WriteAt {
		return func(b []byte, off int64) (int, error) {
			full.Do(func() { disktest.Fill(t, dir, 0) })
			return write(b, off)
		}
	}))
	must(t, s.Checkpoint(checkpointOf(2, 500_000)))
	if s.room.space.Reserve.Held() >= held {
		t.Errorf("%d bytes are held, as before", s.room.space.Reserve.Held())
	}
	must(t, s.Verify(t.Context()))
}

// A part that was not measured, since there was space, is not written once there is little.
func TestAPartIsMeasuredWhenSpaceIsShortMeanwhile(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "96m")
	s, err := openOn(t, dir, small, wholeLog, 0, 8<<20)
	must(t, err)
	p := s.room.nextPart(checkpointOf(1, 100).Changes)
	promised, err := s.room.awaitPart(p)
	must(t, err)
	s.room.space.Reserve.Fulfilled(promised)
	disktest.Fill(t, dir, 1<<20)
	if _, err := s.room.awaitPart(p); !errors.Is(err, errShortNow) {
		t.Fatal(err)
	}
	if p = s.room.nextPart(checkpointOf(1, 100).Changes); !p.measured {
		t.Fatalf("%+v", p)
	}
	_, err = s.room.awaitPart(p)
	must(t, err)
}

// A redo file that cannot be made is an error at once, and not when a checkpoint needs it.
func TestOpenNeedsItsRedoFile(t *testing.T) {
	dir := t.TempDir()
	const quota = 16 << 20 // little gathers for a checkpoint, so that the file gets its size at once
	s, err := openOn(t, dir, small, wholeLog, quota, 0)
	must(t, err)
	must(t, s.Close())
	must(t, os.Remove(s.files.RedoPath()))
	must(t, os.Mkdir(s.files.RedoPath(), 0o700))
	_, err = openOn(t, dir, small, wholeLog, quota, 0)
	wantError(t, err, disk.ErrFailed, s.files.RedoPath(), "is a directory")
}
