package acceptor

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

func TestFlushWritesOnlyWhatIsLeft(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	for i := range 50 {
		commit(t, s, entry(7, i, "again"), entry(1+i%5, i, "low"))
	}
	commit(t, s, entry(6, 1, "late"))
	s.checkpointed = 4
	must(t, s.Commit([]multipaxos.Persist{{Truncate: 4}}))
	must(t, s.Flush())
	if st := s.Stats(); st.FlushedEntries != 3 || st.Flushes != 1 || st.PendingBytes != 0 ||
		len(s.pending.entries) != 0 {
		t.Errorf("%+v", st)
	}
	got, err := s.Entries(0, 100, 1<<20)
	must(t, err)
	if fmt.Sprint(slots(got)) != "[5 6 7]" || got[2].Ballot != bal(49) {
		t.Errorf("%v", got)
	}
	must(t, s.Flush())
	if st := s.Stats(); st.Flushes != 1 {
		t.Errorf("nothing was pending, and still: %+v", st)
	}
}

func TestCommitTooLargeForTheJournal(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	commit(t, s, entry(1, 1, "before"))
	large := strings.Repeat("x", int(s.ring.Limit())+1)
	commit(t, s, entry(2, 1, large))
	if st := s.Stats(); st.JournalSyncs != 1 || st.Flushes != 2 || st.PendingBytes != 0 {
		t.Errorf("%+v", st)
	}
	commit(t, s, entry(3, 1, "after"))
	want := mustContent(t, s)
	die(t, s)
	s = open(t, s.files.Dir, calm)
	if got := mustContent(t, s); got != want || s.Stats().Replayed != 1 {
		t.Errorf("%d bytes became %d; %+v", len(want), len(got), s.Stats())
	}
}

func TestCommitsWaitOnlyForSpace(t *testing.T) {
	o := calm
	o.JournalBytes = MinJournalBytes
	s := open(t, t.TempDir(), o)
	value := strings.Repeat("v", 1000) // three sectors with what is around it
	busy, err := s.db.Begin(true)      // the flush waits for it
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		asked := false
		for i := range 200 {
			if s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(i+1, 1, value)}}}) != nil {
				break
			}
			if !asked && s.PendingBytes() >= s.fullBytes() { // the flush begins before the ring is full
				for asked = true; s.mu.TryLock(); runtime.Gosched() {
					s.mu.Unlock()
				}
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
	if n := s.Stats().JournalSyncs; n < 30 || n > MinJournalBytes/(3*journal.SectorBytes) {
		t.Errorf("%d commits went on meanwhile", n)
	}
	must(t, busy.Rollback())
	<-done
	must(t, s.failure.Err())
	want := mustContent(t, s)
	die(t, s)
	if s = open(t, s.files.Dir, o); mustContent(t, s) != want || s.Durable().Last != 200 {
		t.Errorf("%+v", s.Durable())
	}
}

// A log that was full when its process died moves records as soon as a commit needs their place.
func TestAFullRingAfterAStart(t *testing.T) {
	o := calm
	o.JournalBytes = MinJournalBytes
	s := open(t, t.TempDir(), o)
	value := strings.Repeat("v", s.ring.Limit()*9/10)
	s.mu.Lock()                                 // no flush
	fit := int(s.ring.Bytes()) / s.ring.Limit() // and no more
	for i := range fit {
		commit(t, s, entry(i+1, 1, value))
	}
	s.failure.Fail(errors.New("the process died"))
	s.mu.Unlock()
	must(t, s.Close())
	s = open(t, s.files.Dir, o)
	for i := range 3 {
		commit(t, s, entry(fit+i+1, 1, value))
	}
	if st := s.Stats(); st.Replayed != uint64(fit) || st.JournalWaits == 0 {
		t.Errorf("%+v", st)
	}
}

func TestFailureEndsTheWaitForSpace(t *testing.T) {
	o := calm
	o.JournalBytes = MinJournalBytes
	s := open(t, t.TempDir(), o)
	s.mu.Lock()
	failed := make(chan error)
	go func() {
		for i := 1; ; i++ {
			if err := s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(i, 1,
				strings.Repeat("v", 2000))}}}); err != nil {
				failed <- err
				return
			}
		}
	}()
	for s.Stats().JournalWaits == 0 {
		runtime.Gosched()
	}
	s.failure.Fail(errors.New("somewhere else"))
	wantError(t, <-failed, disk.ErrFailed, "somewhere else")
	s.mu.Unlock()
}

func TestEntriesWhileRecordsMove(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), Options{InitialBytes: 64 << 10, JournalBytes: MinJournalBytes, FlushBytes: 2 << 10})
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

// Only the oldest records move, and only what they have that is neither truncated nor written again.
func TestTheOldestRecordsMove(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	for i := range 6 {
		commit(t, s, entry(i+1, 1, "first"))
	}
	commit(t, s, entry(2, 2, "again"), entry(4, 2, "again"))
	truncate(t, s, 1)
	must(t, s.moveSome(3*journal.SectorBytes)) // records 1 to 3, and 4, of which nothing is left
	if m, st := s.logged.Load(), s.Stats(); m.Journaled != 4 || m.Last != 3 || m.Truncated != 0 || m.Seen != 9 ||
		st.FlushedEntries != 1 || st.PendingBytes != 5*journal.SectorBytes {
		t.Errorf("%+v %+v", m, st)
	}
	want := mustContent(t, s)
	die(t, s)
	s = open(t, s.files.Dir, calm)
	if got := mustContent(t, s); got != want || s.Stats().Replayed != 5 {
		t.Errorf("%s\nbecame\n%s", want, got)
	}
}

// hookedFile calls hook before a reading, once.
type hookedFile struct {
	dataFile
	hook func()
}

func (f *hookedFile) ReadAt(b []byte, off int64) (int, error) {
	if hook := f.hook; hook != nil {
		f.hook = nil
		hook()
	}
	return f.dataFile.ReadAt(b, off)
}

// A record that moves to log.db while it is read, and whose place another one takes, is read there.
func TestARecordThatMovesAwayIsReadAgain(t *testing.T) {
	o := calm
	o.JournalBytes = MinJournalBytes
	s := open(t, t.TempDir(), o)
	f := &hookedFile{dataFile: dataFile{s.journalFile, s.journalSync}}
	ring, err := journal.Open(f, s.ring.Bytes(), ident.StoreID{1}, journal.Home{}, nil)
	must(t, err)
	s.ring = ring
	commit(t, s, entry(1, 1, "first"))
	f.hook = func() {
		must(t, s.Flush())
		for i := range 200 { // round the ring
			commit(t, s, entry(i+2, 1, "later"))
		}
	}
	got, err := s.Entries(1, 1, 1)
	if err != nil || f.hook != nil || len(got) != 1 || string(got[0].Value) != "first" || s.pending.has(1) {
		t.Errorf("%v %v", got, err)
	}
}

// A start after a commit that was cut off moves all, so that nothing of it can be taken for a part of another.
func TestACutOffCommitMovesAll(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	commit(t, s, entry(1, 1, "whole"))
	at, err := s.ring.Append(&journal.Record{Marks: s.Durable(), Generation: s.logged.Load().Generation,
		Entries: []multipaxos.Entry{entry(2, 1, strings.Repeat("x", 1000))}})
	must(t, err)
	_, err = s.journalFile.WriteAt(make([]byte, journal.SectorBytes), int64(at.Start+1)*journal.SectorBytes)
	must(t, err)
	die(t, s)
	s = open(t, s.files.Dir, calm)
	if st := s.Stats(); !st.CutOff || st.PendingBytes != 0 || s.logged.Load().Journaled != 2 || s.Durable().Last != 1 {
		t.Errorf("%+v %+v", st, s.logged.Load())
	}
	commit(t, s, entry(2, 2, "y"))
	want := mustContent(t, s)
	die(t, s)
	if s = open(t, s.files.Dir, calm); mustContent(t, s) != want {
		t.Errorf("%s", mustContent(t, s))
	}
}

// Within a moment log.db knows how far the journal is, and records that hold nothing any more are let go.
func TestAQuietLogIsNoted(t *testing.T) {
	o := calm
	o.NoteAfter = time.Millisecond
	s := open(t, t.TempDir(), o)
	for i := range 3 {
		commit(t, s, entry(i+1, 1, "x"))
		for s.logged.Load().Seen < s.pending.last() {
			must(t, s.failure.Err())
			runtime.Gosched()
		}
	}
	if st := s.Stats(); st.Flushes != 0 || st.PendingBytes != 3*journal.SectorBytes || s.logged.Load().Last != 0 {
		t.Errorf("%+v", st)
	}
	truncate(t, s, 2)
	for s.Stats().PendingBytes > 2*journal.SectorBytes { // the third entry, and the truncation
		must(t, s.failure.Err())
		runtime.Gosched()
	}
	if m := s.logged.Load(); m.Journaled != 2 || m.Last != 0 || m.Truncated != 0 {
		t.Errorf("%+v", m)
	}
}

func TestCommitAllocatesNothingPerEntry(t *testing.T) {
	s := open(t, t.TempDir(), Options{InitialBytes: 64 << 10, NoteAfter: time.Hour, FlushBytes: 1 << 30})
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
