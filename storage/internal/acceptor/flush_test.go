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
	if st := s.Stats(); st.JournalSyncs != 1 || st.Flushes != 1 || st.PendingBytes != 0 {
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
			if !asked && s.PendingBytes() >= s.flushBytes() { // the flush begins before the ring is full
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

func TestQuietStoreEmptiesItsJournal(t *testing.T) {
	o := calm
	o.FlushIdle = time.Millisecond
	s := open(t, t.TempDir(), o)
	for i := range 3 {
		commit(t, s, entry(i+1, 1, "x"))
		for s.Stats().PendingBytes > 0 {
			must(t, s.failure.Err())
			runtime.Gosched()
		}
	}
	if st := s.Stats(); st.Flushes == 0 || s.logged.Load().Last != 3 {
		t.Errorf("%+v", st)
	}
}

func TestCommitAllocatesNothingPerEntry(t *testing.T) {
	s := open(t, t.TempDir(), Options{InitialBytes: 64 << 10, FlushIdle: time.Hour, FlushBytes: 1 << 30})
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
