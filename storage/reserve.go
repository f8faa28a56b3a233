package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The reserve file holds free space that only this store may use. Others can fill a file system between two looks at it;
// what is then begun already must still find room, and deletes must. It is given up piece by piece before a write for
// which the file system alone has no room, and taken again when there is plenty. Its content means nothing, and neither
// does its absence.

const (
	// maxHeldBytes bounds the reserve file, half of the reserve otherwise.
	maxHeldBytes = 32 << 20
	// minReserveBytes is the least that is taken for a reserve: what is on its way when a disk is found to be short fits.
	minReserveBytes = 8 << 20
	// reserveParts: a file system must have so many times the reserve.
	reserveParts = 6
)

// defaultReserve is the reserve on a file system of total bytes.
func defaultReserve(total int64) int64 { return min(max(total/8, minReserveBytes), maxReserveBytes) }

// checkSize refuses a file system on which the reserve would be most of what there is.
func checkSize(dir string, reserve int64) error {
	at := dir
	for { // nothing is made before this has been answered
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	_, total, err := freeBytes(at)
	if err != nil {
		return unusable("cannot ask for the free space of %s: %w", at, err)
	}
	if reserve == 0 {
		reserve = defaultReserve(total)
	}
	if need := reserveParts * reserve; total < need {
		return fmt.Errorf("%w: the file system of %s has %d bytes and a store needs one of %d at least, of which it keeps %d in reserve; choose a larger one",
			ErrTooSmall, dir, total, need, reserve)
	}
	return nil
}

func (s *Store) reservePath() string { return filepath.Join(s.dir, reserveName) }

// hold takes what is missing of the reserve file once the file system has it and a little more, and puts what is held into
// u. The caller holds usageMu.
func (s *Store) hold(u *Usage) {
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	u.HeldBytes = s.held
	want := min(u.ReserveBytes/2, maxHeldBytes)
	if s.held >= want || u.FreeBytes-s.promised < want-s.held+want/4 || s.reserveFile == nil {
		return
	}
	if err := unix.Fallocate(int(s.reserveFile.Fd()), 0, 0, want); err != nil {
		s.measureReserve() // some file systems cannot; a part of it may be there
	} else {
		s.held = want
	}
	u.FreeBytes -= s.held - u.HeldBytes
	u.HeldBytes = s.held
}

// openReserve opens the reserve file, and makes an empty one if there is none. A store does without it if need be.
func (s *Store) openReserve() {
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	f, err := os.OpenFile(s.reservePath(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.notes = append(s.notes, fmt.Sprintf("no space is held in reserve: %v", plain(err)))
		}
		return
	}
	s.reserveFile = f
	s.measureReserve()
}

func (s *Store) measureReserve() {
	var st unix.Stat_t
	if unix.Fstat(int(s.reserveFile.Fd()), &st) == nil {
		s.held = min(st.Size, st.Blocks*512)
	}
}

// unusedBytes is what the file system has free and promised to no write, and what the reserve file holds of it.
func (s *Store) unusedBytes() (int64, error) {
	free, _, err := freeBytes(s.dir)
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	return free + s.held - s.promised, err
}

// promise makes sure that the file system has need bytes free besides what was promised before, as far as the reserve file
// goes, and tells how many it has. If they are enough, or anyhow is set, need bytes are promised: neither the reserve file
// nor another write is to take them before fulfilled is called with what was promised.
func (s *Store) promise(need int64, anyhow bool) (free, promised int64, err error) {
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	for {
		if free, _, err = freeBytes(s.dir); err != nil {
			return 0, 0, err
		}
		free -= s.promised
		if free >= need || s.held == 0 {
			break
		}
		left := max(0, s.held-(need-free))
		left -= left % reserveBlock
		if err := s.reserveFile.Truncate(left); err != nil {
			return free, 0, plain(err)
		}
		s.held = left // others may take it at once: then the next piece
	}
	if free >= need || anyhow {
		promised = need
	}
	s.promised += promised
	return free, promised, nil
}

// fulfilled takes back a promise: the write has ended.
func (s *Store) fulfilled(promised int64) {
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	s.promised -= promised
}

// reserveBlock divides the sizes of the reserve file: a part of a block frees nothing. Where blocks are larger, promise goes on
// to the next piece.
const reserveBlock = 64 << 10
