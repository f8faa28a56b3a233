package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/journal"
)

// die ends s as a crash of its process does: what is pending stays in the journal.
func die(t testing.TB, s *Store) {
	t.Helper()
	s.fail(errors.New("the process died"))
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
	must(t, s.Commit([]multipaxos.Persist{{Promised: bal(3), Entries: []multipaxos.Entry{entry(1, 3, "a"), entry(2, 3, "b")}}}))
	must(t, s.flush())
	must(t, s.Commit([]multipaxos.Persist{{Promised: bal(4), Entries: []multipaxos.Entry{entry(4, 4, "d"), entry(2, 4, "B")}, Chosen: 2}}))
	must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(3, 4, "c")}}, {Promised: bal(5)}}))
	want := mustContent(t, s)
	if st := s.Stats(); st.JournalSyncs != 3 || st.Flushes != 1 || st.PendingBytes != 2*journal.SectorBytes || s.logged.Load().Last != 2 {
		t.Errorf("%+v", st)
	}
	die(t, s)
	s = open(t, s.dir, calm)
	if got := mustContent(t, s); got != want {
		t.Errorf("%s\nbecame\n%s", want, got)
	}
	if st := s.Stats(); st.Replayed != 2 || st.CutOff || st.PendingBytes != 0 || s.logged.Load().durable() != s.Durable() {
		t.Errorf("%+v, log.db has %+v", st, s.logged.Load())
	}
	die(t, s)
	if s = open(t, s.dir, calm); s.Stats().Replayed != 0 || mustContent(t, s) != want {
		t.Errorf("%+v", s.Stats())
	}
}

// log.db gets the last write of each slot, in slot order, and nothing that was truncated meanwhile.
func TestFlushWritesOnlyWhatIsLeft(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	for i := range 50 {
		commit(t, s, entry(7, i, "again"), entry(1+i%5, i, "low"))
	}
	commit(t, s, entry(6, 1, "late"))
	must(t, s.Fold(&kv.Fold{Slot: 4}))
	must(t, s.Commit([]multipaxos.Persist{{Truncate: 4}}))
	must(t, s.flush())
	if st := s.Stats(); st.FlushedEntries != 3 || st.Flushes != 1 || st.PendingBytes != 0 || len(s.pending.entries) != 0 {
		t.Errorf("%+v", st)
	}
	got, err := s.Entries(0, 100, 1<<20)
	must(t, err)
	if fmt.Sprint(slots(got)) != "[5 6 7]" || got[2].Ballot != bal(49) {
		t.Errorf("%v", got)
	}
	must(t, s.flush())
	if st := s.Stats(); st.Flushes != 1 {
		t.Errorf("nothing was pending, and still: %+v", st)
	}
}

// A commit that is too large goes to log.db with everything before it.
func TestCommitTooLargeForTheJournal(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	commit(t, s, entry(1, 1, "before"))
	large := strings.Repeat("x", int(s.ring.Limit())+1)
	commit(t, s, entry(2, 1, large))
	if st := s.Stats(); st.JournalSyncs != 1 || st.Flushes != 1 || st.PendingBytes != 0 {
		t.Errorf("%+v", st)
	}
	commit(t, s, entry(3, 1, "after"))
	want := mustContent(t, s)
	die(t, s)
	s = open(t, s.dir, calm)
	if got := mustContent(t, s); got != want || s.Stats().Replayed != 1 {
		t.Errorf("%d bytes became %d; %+v", len(want), len(got), s.Stats())
	}
}

// While log.db is busy commits go on, until the ring is full of what log.db does not have; then they wait.
func TestCommitsWaitOnlyForRoom(t *testing.T) {
	o := calm
	o.JournalBytes = minJournalBytes
	s := open(t, t.TempDir(), o)
	value := strings.Repeat("v", 1000) // three sectors with what is around it
	busy, err := s.log.Begin(true)     // the flush waits for it
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			if s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(i+1, 1, value)}}}) != nil {
				break
			}
		}
	}()
	for waiting := true; waiting && s.Stats().JournalWaits == 0; runtime.Gosched() {
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	if n := s.Stats().JournalSyncs; n < 30 || n > minJournalBytes/(3*journal.SectorBytes) {
		t.Errorf("%d commits went on meanwhile", n)
	}
	must(t, busy.Rollback())
	<-done
	must(t, s.failed())
	want := mustContent(t, s)
	die(t, s)
	if s = open(t, s.dir, o); mustContent(t, s) != want || s.Durable().Last != 200 {
		t.Errorf("%+v", s.Durable())
	}
}

// A failure ends the wait.
func TestFailureEndsTheWaitForRoom(t *testing.T) {
	o := calm
	o.JournalBytes = minJournalBytes
	s := open(t, t.TempDir(), o)
	s.boltMu.Lock()
	failed := make(chan error)
	go func() {
		for i := 1; ; i++ {
			if err := s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(i, 1, strings.Repeat("v", 2000))}}}); err != nil {
				failed <- err
				return
			}
		}
	}()
	for s.Stats().JournalWaits == 0 {
		runtime.Gosched()
	}
	s.fail(errors.New("somewhere else"))
	wantError(t, <-failed, ErrFailed, "somewhere else")
	s.boltMu.Unlock()
}

// Whoever reads while records move from the journal to log.db sees each entry, and the newest one.
func TestEntriesWhileRecordsMove(t *testing.T) {
	s := open(t, t.TempDir(), Options{LogInitialBytes: 64 << 10, JournalBytes: minJournalBytes, FlushBytes: 2 << 10})
	const last, rounds = 40, 60
	var floor [last + 1]int // of each slot's ballot, as far as it is acknowledged
	var mu sync.Mutex
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			mu.Lock()
			want := floor
			mu.Unlock()
			got, err := s.Entries(1, last, 1<<20)
			if err != nil {
				t.Error(err)
				return
			}
			seen := map[multipaxos.Slot]int{}
			for i, e := range got {
				seen[e.Slot] = int(e.Ballot.Counter)
				if i > 0 && got[i-1].Slot >= e.Slot {
					t.Errorf("%v", slots(got))
				}
			}
			for slot := 1; slot <= last; slot++ {
				if seen[multipaxos.Slot(slot)] < want[slot] {
					t.Errorf("slot %d is at %d, and was at %d", slot, seen[multipaxos.Slot(slot)], want[slot])
					return
				}
			}
		}
	})
	for round := 1; round <= rounds && !t.Failed(); round++ {
		for slot := last; slot > 0; slot -= 1 + round%3 {
			commit(t, s, entry(slot, round, "value"))
			mu.Lock()
			floor[slot] = round
			mu.Unlock()
		}
	}
	close(stop)
	reader.Wait()
	if st := s.Stats(); st.Flushes < 5 {
		t.Errorf("%+v", st)
	}
}

func TestQuietStoreEmptiesItsJournal(t *testing.T) {
	o := calm
	o.FlushIdle = time.Millisecond
	s := open(t, t.TempDir(), o)
	for i := range 3 {
		commit(t, s, entry(i+1, 1, "x"))
		for s.Stats().PendingBytes > 0 {
			must(t, s.failed())
			runtime.Gosched()
		}
	}
	if st := s.Stats(); st.Flushes == 0 || s.logged.Load().Last != 3 {
		t.Errorf("%+v", st)
	}
}

// A flipped bit anywhere in the journal is refused, and so is one in what was never written.
func TestNoFlippedBitOfTheJournalIsServed(t *testing.T) {
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 300, 200)
	must(t, s.flush())
	fill(t, s, 3, 20)
	want := mustContent(t, s)
	die(t, s)
	path := filepath.Join(dir, journalName)
	good := readFile(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	flips := 1000
	if testing.Short() {
		flips = 200
	}
	for range flips {
		off, bit := rand.IntN(len(good)), byte(1)<<rand.IntN(8)
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
		if err := acceptorSeed.openInto(marksKey, b.Get(marksKey), &m); err != nil {
			return err
		}
		type older struct { // the fields that there were
			Promised, Chosen, Truncated, Last, Entries any
		}
		return b.Put(marksKey, acceptorSeed.seal(nil, marksKey, marshal(&older{m.Promised, m.Chosen, m.Truncated, m.Last, m.Entries})))
	}))
	must(t, db.Close())
	must(t, os.Remove(filepath.Join(dir, journalName)))
}

func TestStoreOfAnOlderVersionGetsAJournal(t *testing.T) {
	for name, before := range map[string]func(path string) error{
		"none":                       func(string) error { return nil },
		"a crash left some zeros":    func(path string) error { return os.WriteFile(path, make([]byte, 5000), 0o600) },
		"a crash left all zeros":     func(path string) error { return os.WriteFile(path, make([]byte, minJournalBytes), 0o600) },
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
			must(t, before(filepath.Join(dir, journalName)))
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
			must(t, os.Remove(filepath.Join(dir, journalName)))
			_, err := Open(dir, small)
			wantError(t, err, ErrDamaged, journalName, "missing")
		})
	}
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 20, 20)
	must(t, s.Close())
	used := readFile(t, filepath.Join(dir, journalName))
	withoutJournal(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, journalName), used, 0o600))
	_, err := Open(dir, small)
	wantError(t, err, ErrDamaged, logName, "older copy")
}

// An older journal, or an older log.db, with what the other one holds now.
func TestFilesOfDifferentTimesAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	path, logPath := filepath.Join(dir, journalName), filepath.Join(dir, logName)
	fill(t, s, 10, 100)
	die(t, s)
	journalThen, logThen := readFile(t, path), readFile(t, logPath)
	s = open(t, dir, small)
	fill(t, s, 10, 100)
	must(t, s.flush())
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

// A record that says what cannot have followed what was before is damage, whatever its checksums say.
func TestRecordsMustFollow(t *testing.T) {
	was := multipaxos.Durable{Promised: bal(5), Truncated: 3, Chosen: 6, Last: 9}
	for name, m := range map[string]multipaxos.Durable{
		"promised": {Promised: bal(4), Truncated: 3, Chosen: 6, Last: 9}, "truncated": {Promised: bal(5), Truncated: 2, Chosen: 6, Last: 9},
		"chosen": {Promised: bal(5), Truncated: 3, Chosen: 5, Last: 9}, "last": {Promised: bal(5), Truncated: 3, Chosen: 6, Last: 8},
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
func TestCommitAllocatesNothingPerEntry(t *testing.T) {
	s := open(t, t.TempDir(), Options{LogInitialBytes: 64 << 10, FlushIdle: time.Hour, FlushBytes: 1 << 30})
	p := []multipaxos.Persist{{Entries: make([]multipaxos.Entry, 64)}}
	value := bytes.Repeat([]byte("v"), 100)
	for i := range p[0].Entries {
		p[0].Entries[i] = multipaxos.Entry{Slot: multipaxos.Slot(i + 1), Ballot: bal(1), Value: value}
	}
	var err error
	if n := testing.AllocsPerRun(100, func() { err = errors.Join(err, s.Commit(p)) }); n > 2 || err != nil {
		t.Errorf("%v allocations a commit, %v", n, err)
	}
}
