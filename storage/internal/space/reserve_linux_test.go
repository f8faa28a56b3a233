package space

import (
	"os"
	"testing"

	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

var must = disktest.Must

// opened returns the account of an empty store in dir, with its reserve.
func opened(t *testing.T, dir string, reserveBytes int64) *Account {
	t.Helper()
	a := NewAccount(disk.NewFailure(), disk.Files{Dir: dir}, 0, reserveBytes)
	if note := a.Reserve.Open(); note != "" {
		t.Fatal(note)
	}
	t.Cleanup(func() { a.Reserve.Close() })
	refresh(t, a)
	return a
}

func refresh(t *testing.T, a *Account) {
	t.Helper()
	must(t, a.Refresh(func() (Taken, error) { return Taken{}, nil }))
}

// The reserve gives up whole blocks: a part of a block frees nothing.
func TestTheReserveGivesWholeBlocks(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	a := opened(t, dir, 0)
	r := &a.Reserve
	disktest.Fill(t, dir, 64<<10)
	for _, need := range []int64{64<<10 + 1, 100_001, 300_001, r.held + 64<<10 - 1} {
		had, held := disktest.Free(t, dir), r.held
		free, promised, err := r.Promise(need, false)
		r.Fulfilled(promised)
		if err != nil || free < need {
			t.Errorf("%d bytes wanted, %d are free (%v) and %d held", need, free, err, r.held)
		}
		if has := disktest.Free(t, dir); free != has {
			t.Errorf("%d bytes are free, not %d", has, free)
		}
		if given, missing := held-r.held, max(0, need-had); given >= missing+reserveBlock {
			t.Errorf("%d bytes were missing and %d are given up", missing, given)
		}
	}
}

// Space that the reserve gave up for a write is neither taken again nor given to another write before the first has
// ended.
func TestWhatIsPromisedIsNotTakenAgain(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	a := opened(t, dir, 0)
	r := &a.Reserve
	disktest.Fill(t, dir, 1500<<10)
	const need = 1900 << 10
	_, promised, err := r.Promise(need, false)
	must(t, err)
	left := r.held
	refresh(t, a)
	if free, _, _ := Free(dir); free < need || r.held != left {
		t.Errorf("%d bytes are free of %d that were promised, %d held of %d", free, need, r.held, left)
	}
	_, more, err := r.Promise(need, false)
	must(t, err)
	if free, _, _ := Free(dir); promised != need || more != need || free < 2*need {
		t.Errorf("%d and %d bytes are promised, and %d are free", promised, more, free)
	}
	r.Fulfilled(promised)
	r.Fulfilled(more)
	refresh(t, a)
	if r.promised != 0 || r.held <= left {
		t.Errorf("after the writes %d bytes are promised and %d held", r.promised, r.held)
	}
}

// A reserve file that could only be filled in part keeps that part, and counts it as held.
func TestAPartOfTheReserveIsHeld(t *testing.T) {
	a := opened(t, t.TempDir(), 8<<20)
	r := &a.Reserve
	const part = 1 << 20
	r.mu.Lock()
	disktest.Overwrite(t, r.files.ReservePath(), make([]byte, part))
	must(t, r.file.Close())
	f, err := os.Open(r.files.ReservePath()) // it cannot be filled further
	must(t, err)
	r.file, r.held = f, 0
	r.mu.Unlock()
	refresh(t, a)
	if u := a.Usage(); u.HeldBytes != part || r.held != part {
		t.Errorf("%d bytes are held, and usage says %d", r.held, u.HeldBytes)
	}
}

// An error of the disk names the file and says what to do.
func TestErrorsOfTheDiskNameTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		harm  func(r *Reserve) // makes the next call fail as if the disk had failed
		bytes int64
		words string
	}{
		"free space": {func(r *Reserve) { r.files.Dir += "/gone" }, 1, "gone"},
		"reserve": {func(r *Reserve) {
			r.file.Close()
			r.held = 1 << 20
		}, 1 << 60, disk.ReserveName},
	} {
		t.Run(name, func(t *testing.T) {
			a := opened(t, t.TempDir(), 0)
			c.harm(&a.Reserve)
			_, _, err := a.Reserve.Promise(c.bytes, false)
			disktest.WantError(t, a.failure.Fail(err), disk.ErrFailed, c.words, "mend the disk")
		})
	}
	a := opened(t, t.TempDir(), 0)
	a.Reserve.files.Dir += "/gone"
	disktest.WantError(t, a.Refresh(nil), disk.ErrUnusable, "gone", "check")
}

// Pending records need space in log.db, so it does not count as the log's free space.
func TestWhatIsPendingIsNoSpace(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "64m")
	a := opened(t, dir, 1<<20)
	disktest.Fill(t, dir, 768<<10)
	taken := Taken{Log: Measures{File: 2 << 20, Reusable: 1 << 20}}
	for _, pending := range []int64{0, 2_500_000} {
		taken.PendingBytes = pending
		must(t, a.Refresh(func() (Taken, error) { return taken, nil }))
		if u := a.Usage(); u.Low != (pending > 0) || u.LogBytes != pending {
			t.Errorf("with %d bytes pending: %+v", pending, u)
		}
	}
}
