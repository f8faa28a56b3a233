package storage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/testseed"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
	"tenure/storage/journal"
)

// A flipped bit anywhere in the journal is refused, and so is one in what was never written.
func TestNoFlippedBitOfTheJournalIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 300, 200)
	must(t, s.log.Flush())
	fill(t, s, 3, 20)
	want := mustContent(t, s)
	die(t, s)
	path := filepath.Join(dir, disk.JournalName)
	good := readFile(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	flips := 1000
	if testing.Short() {
		flips = 200
	}
	r := rand.New(rand.NewPCG(testseed.Of(t), 0))
	for range flips {
		off, bit := r.IntN(len(good)), byte(1)<<r.IntN(8)
		_, err := f.WriteAt([]byte{good[off] ^ bit}, int64(off))
		must(t, err)
		_, err = Open(dir, small)
		wantError(t, err, ErrDamaged, path, fmt.Sprintf("sector %d ", off/journal.SectorBytes))
		_, err = f.WriteAt(good[off:off+1], int64(off))
		must(t, err)
		if t.Failed() {
			t.Fatalf("bit %#x of byte %d", bit, off)
		}
	}
	if s := open(t, dir, small); mustContent(t, s) != want || s.Stats().Replayed != 1 {
		t.Errorf("%+v", s.Stats())
	}
}

// withoutJournal makes of a closed store one of a version that had no journal.

func withoutJournal(t *testing.T, dir string) {
	t.Helper()
	logPath, _ := paths(dir)
	db, err := bolt.Open(logPath, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("acceptor"))
		var m acceptor.Marks
		if err := sealed.SeedOf("acceptor").OpenInto([]byte("marks"), b.Get([]byte("marks")), &m); err != nil {
			return err
		}
		type older struct { // the fields that there were
			Promised, Chosen, Truncated, Last, Entries any
		}
		return b.Put([]byte("marks"), sealed.SeedOf("acceptor").Seal(nil, []byte("marks"),
			marshal(&older{m.Promised, m.Chosen, m.Truncated, m.Last, m.Entries})))
	}))
	must(t, db.Close())
	must(t, os.Remove(filepath.Join(dir, disk.JournalName)))
}

func TestStoreOfAnOlderVersionGetsAJournal(t *testing.T) {
	for name, before := range map[string]func(path string) error{
		"none":                    func(string) error { return nil },
		"a crash left some zeros": func(path string) error { return os.WriteFile(path, make([]byte, 5000), 0o600) },
		"a crash left all zeros": func(path string) error {
			return os.WriteFile(path,
				make([]byte, acceptor.MinJournalBytes), 0o600)
		},
		"a crash left an empty file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"and another asks for a copy": func(path string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), acceptedName), nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := formed(t, dir)
			fill(t, s, 20, 20)
			want := mustContent(t, s)
			must(t, s.log.Flush())
			must(t, s.Close())
			withoutJournal(t, dir)
			must(t, before(filepath.Join(dir, disk.JournalName)))
			s = open(t, dir, small)
			if got := mustContent(t, s); got != want || s.Usage().JournalBytes != acceptor.MinJournalBytes {
				t.Fatalf("%s\nbecame\n%s", want, got)
			}
			fill(t, s, 1, 20)
			die(t, s)
			if s = open(t, dir, small); s.Stats().Replayed != 1 {
				t.Errorf("%+v", s.Stats())
			}
			must(t, s.Close())
			must(t, os.Remove(filepath.Join(dir, disk.JournalName)))
			_, err := Open(dir, small)
			wantError(t, err, ErrDamaged, disk.JournalName, "missing")
		})
	}
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 20, 20)
	must(t, s.log.Flush())
	must(t, s.Close())
	used := readFile(t, filepath.Join(dir, disk.JournalName))
	withoutJournal(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, disk.JournalName), used, 0o600))
	_, err := Open(dir, small)
	wantError(t, err, ErrDamaged, disk.LogName, "older copy")
}

// An older journal, or an older log.db, with what the other one holds now.
func TestFilesOfDifferentTimesAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	path, logPath := filepath.Join(dir, disk.JournalName), filepath.Join(dir, disk.LogName)
	fill(t, s, 10, 100)
	die(t, s)
	journalThen, logThen := readFile(t, path), readFile(t, logPath)
	s = open(t, dir, small)
	fill(t, s, 10, 100)
	must(t, s.log.Flush())
	fill(t, s, 1, 100)
	die(t, s)
	journalNow, logNow := readFile(t, path), readFile(t, logPath)
	overwrite(t, path, journalThen)
	_, err := Open(dir, small)
	wantError(t, err, ErrDamaged, path, "older copy")
	overwrite(t, path, journalNow)
	overwrite(t, logPath, logThen)
	_, err = Open(dir, small)
	wantError(t, err, ErrDamaged, logPath, "older copy")
	overwrite(t, logPath, logNow)
	open(t, dir, small)
}

// A commit through the journal allocates nothing that grows with its entries.
