package storage

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disktest"
)

// Helpers under short names.
var (
	smallFileSystem = disktest.SmallFileSystem
	othersLeave     = disktest.Fill
)

// storeOn is a store with a durable slot and its reserve.
func storeOn(t *testing.T, dir string) *Store {
	t.Helper()
	s := open(t, dir, Options{})
	must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(1, 1, "v")}}}))
	must(t, s.log.Flush())
	must(t, s.Refresh())
	return s
}

func checkpointOf(n, bytes int) *listed {
	f := &listed{Slot: 1}
	for i := range n {
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: []byte{byte('a' + i)},
			Value: make([]byte, bytes)})
	}
	return f
}

// Others take the file system after the last look at it: the checkpoint gets what the reserve has.
func TestACheckpointLooksAtTheFileSystemItself(t *testing.T) {
	dir := smallFileSystem(t, "64m")
	s := storeOn(t, dir)
	held := s.space.Reserve.Held()
	othersLeave(t, dir, 0)
	if u := s.Usage(); u.Low {
		t.Fatalf("%+v", u)
	}
	must(t, checkpoint(s, checkpointOf(2, 500_000)))
	if s.space.Reserve.Held() >= held {
		t.Errorf("%d bytes are held, as before", s.space.Reserve.Held())
	}
	must(t, s.Verify(t.Context()))
}

// A checkpoint that waits for space, and a scrub behind it, end with Interrupt. The log takes commits until Close, and
// once there is space the next Open makes the rest of the checkpoint.
func TestInterruptEndsACheckpointThatWaits(t *testing.T) {
	dir := smallFileSystem(t, "64m")
	s := storeOn(t, dir)
	othersLeave(t, dir, 0)
	checkpointed, scrubbed := make(chan error, 1), make(chan error, 1)
	go func() { checkpointed <- checkpoint(s, checkpointOf(20, 500_000)) }()
	for unused := int64(1); unused > 0; time.Sleep(time.Millisecond) { // the reserve is given up first
		unused = s.space.Reserve.Held()
	}
	go func() { scrubbed <- s.Scrub(t.Context(), 1<<30) }()
	s.Interrupt()
	for what, ended := range map[string]chan error{"the checkpoint": checkpointed, "the scrub": scrubbed} {
		select {
		case err := <-ended:
			if what == "the checkpoint" && !errors.Is(err, ErrInterrupted) || what == "the scrub" && err != nil {
				t.Errorf("%s ended with %v", what, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal(what, " goes on waiting")
		}
	}
	if err := checkpoint(s, checkpointOf(1, 1)); !errors.Is(err, ErrInterrupted) {
		t.Errorf("the next checkpoint: %v", err)
	}
	must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(2, 1, "w")}}}))
	must(t, s.Close())
	must(t, os.Remove(dir+"/filler"))
	s = open(t, dir, Options{})
	if last := s.Durable().Last; last != 2 {
		t.Errorf("the log ends at slot %d", last)
	}
	must(t, checkpoint(s, checkpointOf(20, 500_000)))
	must(t, s.Verify(t.Context()))
}

// A commit that goes past the journal gets what the reserve has.
func TestALargeCommitTakesTheReserve(t *testing.T) {
	dir := smallFileSystem(t, "64m")
	s := open(t, dir, Options{LogInitialBytes: 256 << 10, JournalBytes: acceptor.MinJournalBytes})
	othersLeave(t, dir, 0)
	var p multipaxos.Persist
	for slot := range 4 {
		p.Entries = append(p.Entries, entry(slot+1, 1, strings.Repeat("v", 500_000)))
	}
	must(t, s.Commit([]multipaxos.Persist{p}))
	if st := s.Stats(); st.Flushes != 1 {
		t.Errorf("it went through the journal: %+v", st)
	}
}
