package storage

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

// Helpers under short names.
var (
	must      = disktest.Must
	wantError = disktest.WantError
	readFile  = disktest.ReadFile
	overwrite = disktest.Overwrite
)

// small are options under which a store is made quickly.
var small = Options{LogInitialBytes: 64 << 10, JournalBytes: acceptor.MinJournalBytes}

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// reopen closes s and opens its directory again.
func reopen(t testing.TB, s *Store) *Store {
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

// fill commits n entries after the last one, 50 a commit, and checkpoints through the last.
func fill(t testing.TB, s *Store, n, valueBytes int) {
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

// listed is a checkpoint with a list of changes.
type listed struct {
	Slot    uint64
	Meta    []byte
	Changes []kv.Change
}

func checkpoint(s *Store, f *listed) error {
	return s.Checkpoint(&kv.Checkpoint{Slot: f.Slot, Meta: f.Meta, Changes: slices.Values(f.Changes)})
}

// checkpointKeys checkpoints keys named by number, from to to, with a value each.
func checkpointKeys(t testing.TB, s *Store, from, to int, value string) {
	t.Helper()
	f := &listed{Slot: uint64(s.Durable().Last), Meta: []byte("meta of " + value)}
	for i := from; i < to; i++ {
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i),
			Value: fmt.Appendf(nil, "%s%d", value, i)})
	}
	must(t, checkpoint(s, f))
}

// content is all that s can be asked for, as text, to compare two states.
func content(s *Store) (string, error) {
	var b strings.Builder
	err := writeContent(&b, s)
	return b.String(), err
}

func writeContent(b io.Writer, s *Store) error {
	fmt.Fprintf(b, "%v %v %+v\n", s.Identity(), s.StartRecord(), s.Durable())
	entries, err := s.Entries(0, ^multipaxos.Slot(0), 1<<40)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fmt.Fprintf(b, "%d %v %s\n", e.Slot, e.Ballot, e.Value)
	}
	slot, meta, err := s.Loaded()
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "checkpointed %d %q\n", slot, meta)
	v, err := s.View()
	if err != nil {
		return err
	}
	defer v.Close()
	for _, kind := range []kv.RecordKind{kv.KindData, kv.KindDedup} {
		err := v.Ascend(kind, nil, func(k, value []byte) bool {
			fmt.Fprintf(b, "%d %s %s\n", kind, k, value)
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var contentSeed = maphash.MakeSeed()

// contentHash stands for content.
func contentHash(s *Store) (uint64, error) {
	var h maphash.Hash
	h.SetSeed(contentSeed)
	w := bufio.NewWriter(&h)
	err := writeContent(w, s)
	w.Flush()
	return h.Sum64(), err
}

func mustContent(t testing.TB, s *Store) string {
	t.Helper()
	c, err := content(s)
	must(t, err)
	return c
}

// formed is a store of node 1 in a cluster of its own.
func formed(t testing.TB, dir string) *Store {
	t.Helper()
	s := open(t, dir, small)
	must(t, s.SetNode(1))
	must(t, s.Found(ident.ClusterID{9}, ident.Membership{Number: 1,
		Members: []ident.Member{{Node: 1, Store: s.Identity().Store}}}))
	must(t, s.Start(StartRecord{Restart: 1, Quarantine: Quarantine{Master: time.Second, User: time.Minute}}))
	return s
}

func paths(dir string) (log, state string) {
	return filepath.Join(dir, disk.LogName), filepath.Join(dir, disk.StateName)
}

func marshal(v any) []byte { return codec.Marshal(v) }

// die ends s as a crash of its process does: what is pending stays in the journal.

func die(t testing.TB, s *Store) {
	t.Helper()
	s.failure.Fail(errors.New("the process died"))
	must(t, s.Close())
}

func viewOf(t testing.TB, s *Store) kv.StateDB {
	t.Helper()
	v, err := s.View()
	must(t, err)
	t.Cleanup(v.Close) // before the store's, which waits for it
	return v
}

// logTo makes slot durable, so that checkpoints may reach it.
func logTo(t testing.TB, s *Store, slot int) {
	t.Helper()
	must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(slot, 1, "")}}}))
}
