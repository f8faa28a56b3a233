package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/testseed"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

// die ends s as a crash of its process does: what is pending stays in the journal.

func die(t testing.TB, s *Store) {
	t.Helper()
	s.failure.Fail(errors.New("the process died"))
	must(t, s.Close())
}

// calm are options under which nothing is flushed that a test does not flush.
var calm = Options{LogInitialBytes: 64 << 10, JournalBytes: 1 << 20, FlushIdle: time.Hour}

// commit writes entries in a commit each.

func commit(t testing.TB, s *Store, entries ...multipaxos.Entry) {
	t.Helper()
	for _, e := range entries {
		must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{e}}}))
	}
}

func TestWhatIsPendingIsThereAfterACrash(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	must(t, s.Commit([]multipaxos.Persist{{Promised: bal(3),
		Entries: []multipaxos.Entry{entry(1, 3, "a"), entry(2, 3, "b")}}}))
	must(t, s.log.flush())
	must(t, s.Commit([]multipaxos.Persist{{Promised: bal(4),
		Entries: []multipaxos.Entry{entry(4, 4, "d"), entry(2, 4, "B")}, Chosen: 2}}))
	must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(3, 4, "c")}}, {Promised: bal(5)}}))
	want := mustContent(t, s)
	if st := s.Stats(); st.JournalSyncs != 3 || st.Flushes != 1 || st.PendingBytes != 2*journal.SectorBytes ||
		s.log.logged.Load().Last != 2 {
		t.Errorf("%+v", st)
	}
	die(t, s)
	s = open(t, s.files.Dir, calm)
	if got := mustContent(t, s); got != want {
		t.Errorf("%s\nbecame\n%s", want, got)
	}
	if st := s.Stats(); st.Replayed != 2 || st.CutOff || st.PendingBytes != 0 ||
		s.log.logged.Load().durable() != s.Durable() {
		t.Errorf("%+v, log.db has %+v", st, s.log.logged.Load())
	}
	die(t, s)
	if s = open(t, s.files.Dir, calm); s.Stats().Replayed != 0 || mustContent(t, s) != want {
		t.Errorf("%+v", s.Stats())
	}
}

// A flipped bit anywhere in the journal is refused, and so is one in what was never written.
func TestNoFlippedBitOfTheJournalIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 300, 200)
	must(t, s.log.flush())
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
		b := tx.Bucket([]byte(acceptorBucket))
		var m logMarks
		if err := acceptorSeed.OpenInto(marksKey, b.Get(marksKey), &m); err != nil {
			return err
		}
		type older struct { // the fields that there were
			Promised, Chosen, Truncated, Last, Entries any
		}
		return b.Put(marksKey, acceptorSeed.Seal(nil, marksKey,
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
				make([]byte, minJournalBytes), 0o600)
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
			must(t, s.Close())
			withoutJournal(t, dir)
			must(t, before(filepath.Join(dir, disk.JournalName)))
			s = open(t, dir, small)
			if got := mustContent(t, s); got != want || s.Usage().JournalBytes != minJournalBytes {
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
	must(t, s.log.flush())
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

// A record that cannot follow the marks before it is damage, even if its checksums are right.
func TestRecordsMustFollow(t *testing.T) {
	was := multipaxos.Durable{Promised: bal(5), Truncated: 3, Chosen: 6, Last: 9}
	for name, m := range map[string]multipaxos.Durable{
		"promised":  {Promised: bal(4), Truncated: 3, Chosen: 6, Last: 9},
		"truncated": {Promised: bal(5), Truncated: 2, Chosen: 6, Last: 9},
		"chosen":    {Promised: bal(5), Truncated: 3, Chosen: 5, Last: 9},
		"last":      {Promised: bal(5), Truncated: 3, Chosen: 6, Last: 8},
	} {
		if follows(was, &journal.Record{Marks: m}) == nil {
			t.Errorf("%s goes back", name)
		}
	}
	for slot, good := range map[int]bool{3: false, 4: true, 9: true, 10: false} {
		r := &journal.Record{Marks: was, Entries: []multipaxos.Entry{entry(slot, 5, "")}}
		if err := follows(was, r); (err == nil) != good {
			t.Errorf("slot %d: %v", slot, err)
		}
	}
}

// A commit through the journal allocates nothing that grows with its entries.
