package space

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
)

// The reserve file holds free space that only this store may use. Others can fill a file system between two looks at
// it; what has begun by then must still find space, and so must deletes. The reserve is given up piece by piece before
// a write for which the file system alone has no space, and taken again when there is plenty. Its content has no
// meaning, and the store works without it.

const (
	// maxHeldBytes bounds the reserve file, half of the reserve otherwise.
	maxHeldBytes = 32 << 20
	// minReserveBytes is the least that is taken for a reserve. Writes under way when a disk is found to be short fit
	// into it.
	minReserveBytes = 8 << 20
	// maxReserveBytes bounds the default reserve.
	maxReserveBytes = 256 << 20
	// reserveParts is how many times the reserve a file system must have.
	reserveParts = 6
)

// ErrTooSmall is that of package storage.
var ErrTooSmall = errors.New("file system too small")

// defaultReserve returns the reserve on a file system of total bytes.
func defaultReserve(total int64) int64 { return min(max(total/8, minReserveBytes), maxReserveBytes) }

// CheckSize refuses a file system on which the reserve would be most of what there is.
func CheckSize(dir string, reserve int64) error {
	at := dir
	for { // nothing is made before this has been answered
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	_, total, err := Free(at)
	if err != nil {
		return disk.Unusable("%w", err)
	}
	if reserve == 0 {
		reserve = defaultReserve(total)
	}
	if need := reserveParts * reserve; total < need {
		return fmt.Errorf("%w: the file system of %s has %d bytes and a store needs one of %d at least, "+
			"of which it keeps %d in reserve; choose a larger one",
			ErrTooSmall, dir, total, need, reserve)
	}
	return nil
}

// Reserve is the reserve file, and what of the free space is promised to writes.
type Reserve struct {
	files    disk.Files
	mu       sync.Mutex // taken last
	file     *os.File   // nil: there is none
	held     int64      // bytes that it keeps
	promised int64      // bytes of free space that writes under way count on
}

// hold takes the missing bytes of the reserve file once the file system has these and a little more, and puts the bytes
// held into u. One caller at a time.
func (r *Reserve) hold(u *Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u.HeldBytes = r.held
	want := min(u.ReserveBytes/2, maxHeldBytes)
	if r.held >= want || u.FreeBytes-r.promised < want-r.held+want/4 || r.file == nil {
		return
	}
	if err := unix.Fallocate(int(r.file.Fd()), 0, 0, want); err != nil {
		r.measure() // some file systems cannot; a part of it may be there
	} else {
		r.held = want
	}
	u.FreeBytes -= r.held - u.HeldBytes
	u.HeldBytes = r.held
}

// Open opens the reserve file, and makes an empty one if there is none. A store does without it if need be: then open
// returns a note about it.
func (r *Reserve) Open() (note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := oslimit.OpenFile(r.files.ReservePath(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		return fmt.Sprintf("no space is held in reserve: %v", err)
	}
	r.file = f
	r.measure()
	return ""
}

func (r *Reserve) measure() {
	var st unix.Stat_t
	if unix.Fstat(int(r.file.Fd()), &st) == nil {
		r.held = min(st.Size, st.Blocks*512)
	}
}

// Unused returns what the file system has free and promised to no write, and what the reserve file holds of it.
func (r *Reserve) Unused() (int64, error) {
	free, _, err := Free(r.files.Dir)
	r.mu.Lock()
	defer r.mu.Unlock()
	return free + r.held - r.promised, err
}

// Promise gives up reserve until the file system has need bytes free besides what was promised before, and returns how
// many it has. If they are enough, or anyhow is set, need bytes are promised: neither the reserve file nor another
// write may take them before Fulfilled is called with what was promised.
func (r *Reserve) Promise(need int64, anyhow bool) (free, promised int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if free, _, err = Free(r.files.Dir); err != nil {
			return 0, 0, err
		}
		free -= r.promised
		if free >= need || r.held == 0 {
			break
		}
		left := max(0, r.held-(need-free))
		left -= left % reserveBlock
		if err := r.file.Truncate(left); err != nil {
			return free, 0, fmt.Errorf("%s: give up reserve: %w", r.files.ReservePath(), disk.Plain(err))
		}
		r.held = left // others may take it at once: then the next piece
	}
	if free >= need || anyhow {
		promised = need
	}
	r.promised += promised
	return free, promised, nil
}

// Claim gives n bytes at off of f their blocks, with what the file system has and then with what the reserve file gives
// up. They are promised until the caller calls Fulfilled: a file system that cannot allocate gives blocks when they are
// written.
func (r *Reserve) Claim(f *os.File, off, n int64) (promised int64, err error) {
	for need := n; ; need *= 2 { // the file system needs some for itself, and others may take what is given up
		held := r.Held()
		if _, promised, err = r.Promise(need, true); err != nil {
			return 0, err
		}
		if err = disk.Allocate(f, off, n); !errors.Is(err, unix.ENOSPC) || held == 0 {
			return promised, err
		}
		r.Fulfilled(promised)
	}
}

// Insist returns a function that writes to f through write. If the file system has no blocks left, the function takes
// some from the reserve and writes once more: other programs may have taken promised space. Only a sync is never tried
// again.
func (r *Reserve) Insist(f *os.File, write pages.WriteAt) pages.WriteAt {
	return func(b []byte, off int64) (int, error) {
		n, err := write(b, off)
		if !errors.Is(err, unix.ENOSPC) || r.Held() == 0 {
			return n, err
		}
		promised, err := r.Claim(f, off, int64(len(b)))
		defer r.Fulfilled(promised)
		if err != nil {
			return 0, err
		}
		return write(b, off)
	}
}

// Held returns what the reserve file keeps.
func (r *Reserve) Held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// Fulfilled ends a promise: the write has ended.
func (r *Reserve) Fulfilled(promised int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promised -= promised
}

// reserveBlock divides the sizes of the reserve file: a part of a block frees nothing. Where blocks are larger, Promise
// goes on to the next piece.
const reserveBlock = 64 << 10

// Spare returns what the file system has free and promised to no write, or 0 if that is not known.
func (r *Reserve) Spare() int64 {
	free, _, err := Free(r.files.Dir)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return 0
	}
	return free - r.promised
}

// Close closes the reserve file.
func (r *Reserve) Close() error { return disk.CloseFiles(r.file) }
