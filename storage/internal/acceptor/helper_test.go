package acceptor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/space"
)

// Helpers under short names.
var (
	must      = disktest.Must
	wantError = disktest.WantError
	wantPanic = disktest.WantPanic
)

// small are options under which a log is made quickly. With calm, only the test flushes.
var (
	small = Options{InitialBytes: 64 << 10, JournalBytes: MinJournalBytes}
	calm  = Options{InitialBytes: 64 << 10, JournalBytes: 1 << 20, NoteAfter: time.Hour}
)

// testLog is a log as a Store wires it, beside a state database of which only the slot matters.
type testLog struct {
	*Log
	options      Options
	account      *space.Account
	checkpointed multipaxos.Slot
	closing      chan struct{}
	work         sync.WaitGroup
}

// open opens the log in dir, and makes it if there is none.
func open(t testing.TB, dir string, o Options) *testLog {
	t.Helper()
	s := &testLog{options: o, closing: make(chan struct{})}
	for f, v := range map[*int64]int64{&o.JournalBytes: 16 << 20, &o.GrowBytes: 4 << 20, &o.FlushBytes: 256 << 10,
		&o.MapBytes: 64 << 30} {
		if *f == 0 {
			*f = v
		}
	}
	if o.NoteAfter == 0 {
		o.NoteAfter = time.Second
	}
	owner := ident.StoreID{1}
	node := []NodeRecord{{Key: []byte("owner"), Value: &owner}}
	files := disk.Files{Dir: dir}
	if _, err := os.Stat(files.LogPath()); err != nil {
		f, err := os.Create(files.LogPath())
		must(t, err)
		must(t, MakeJournal(files.JournalPath(), o.JournalBytes))
		must(t, Create(f, o.InitialBytes, o.JournalBytes, node))
		must(t, f.Close())
	}
	failure := disk.NewFailure()
	s.account = space.NewAccount(failure, files, 0, 0)
	s.account.Reserve.Open()
	s.Log = New(failure, files, o, &s.account.Reserve)
	c, err := s.Read(node)
	must(t, err)
	must(t, pages.Settle(s.file))
	must(t, s.Open(c))
	must(t, s.OpenJournal(owner))
	s.checkpointed = s.Durable().Truncated
	_, err = s.usage()
	must(t, err)
	must(t, s.Settle())
	s.work.Go(func() { s.RunGrower(s.closing, s.usage) })
	s.work.Go(func() { s.RunFlusher(s.closing) })
	t.Cleanup(func() { s.Close() })
	return s
}

// usage measures what the log takes.
func (s *testLog) usage() (space.Usage, error) {
	err := s.account.Refresh(func() (space.Taken, error) {
		m, err := s.Measure()
		return space.Taken{Log: m, JournalBytes: s.JournalBytes(), PendingBytes: s.PendingBytes()}, err
	})
	return s.account.Usage(), err
}

// Commit commits ps beside the state database.
func (s *testLog) Commit(ps []multipaxos.Persist) error {
	return s.Log.Commit(ps, func() multipaxos.Slot { return s.checkpointed })
}

// Close ends the log as that of a Store ends. It may be called more than once.
func (s *testLog) Close() error {
	select {
	case <-s.closing:
		return nil
	default:
	}
	whole := s.failure.Err() == nil
	s.failure.Fail(disk.ErrClosed)
	close(s.closing)
	s.work.Wait()
	s.Stop(whole)
	return errors.Join(s.Log.Close(), s.account.Reserve.Close())
}

// die ends s as a crash of its process does: what is pending stays in the journal.
func die(t testing.TB, s *testLog) {
	t.Helper()
	s.failure.Fail(errors.New("the process died"))
	must(t, s.Close())
}

// reopen closes s and opens its directory again.
func reopen(t testing.TB, s *testLog) *testLog {
	t.Helper()
	must(t, s.Close())
	return open(t, s.files.Dir, s.options)
}

func bal(n int) ballot.Ballot {
	return ballot.Ballot{Counter: uint64(n), Restart: 1, Node: 2, Nonce: 3}
}

func entry(slot, ballot int, value string) multipaxos.Entry {
	return multipaxos.Entry{Slot: multipaxos.Slot(slot), Ballot: bal(ballot), Value: []byte(value)}
}

// commit writes entries in a commit each.
func commit(t testing.TB, s *testLog, entries ...multipaxos.Entry) {
	t.Helper()
	for _, e := range entries {
		must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{e}}}))
	}
}

// fill commits n entries after the last one, 50 a commit.
func fill(t testing.TB, s *testLog, n, valueBytes int) {
	t.Helper()
	slot := int(s.Durable().Last)
	for n > 0 {
		k := min(n, 50)
		p := multipaxos.Persist{Promised: bal(1)}
		for range k {
			slot++
			p.Entries = append(p.Entries, entry(slot, 1, strings.Repeat(string(rune('a'+slot%26)), valueBytes)))
		}
		must(t, s.Commit([]multipaxos.Persist{p}))
		n -= k
	}
}

// truncate checkpoints and truncates through a slot.
func truncate(t testing.TB, s *testLog, through multipaxos.Slot) {
	t.Helper()
	s.checkpointed = through
	must(t, s.Commit([]multipaxos.Persist{{Truncate: through}}))
}

func slots(entries []multipaxos.Entry) (s []int) {
	for _, e := range entries {
		s = append(s, int(e.Slot))
	}
	return s
}

// mustContent is all that s can be asked for, as text, to compare two logs.
func mustContent(t testing.TB, s *testLog) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", s.Durable())
	entries, err := s.Entries(0, ^multipaxos.Slot(0), 1<<40)
	must(t, err)
	for _, e := range entries {
		fmt.Fprintf(&b, "%d %v %s\n", e.Slot, e.Ballot, e.Value)
	}
	return b.String()
}
