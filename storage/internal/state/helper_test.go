package state

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
	"tenure/storage/internal/space"
)

// Helpers under short names.
var (
	must      = disktest.Must
	wantError = disktest.WantError
	wantPanic = disktest.WantPanic
	readFile  = disktest.ReadFile
	overwrite = disktest.Overwrite
)

// small are the options of most tests.
var small Options

// wholeLog is what a log holds in which every slot is durable.
var wholeLog = multipaxos.Durable{Last: 1 << 40}

// testDB is a state database as a Store wires it, beside a log that is durable through slot.
type testDB struct {
	*DB
	options Options
	owner   ident.StoreID
	slot    multipaxos.Slot
	closed  bool
}

// tryOpen opens the state database in dir beside a log, and makes it if there is none.
func tryOpen(t testing.TB, dir string, o Options, log multipaxos.Durable) (*testDB, error) {
	t.Helper()
	return openOn(t, dir, o, log, 0, 0)
}

// openOn is tryOpen with a quota and a reserve.
func openOn(
	t testing.TB, dir string, o Options, log multipaxos.Durable, quotaBytes, reserveBytes int64,
) (*testDB, error) {
	t.Helper()
	s := &testDB{options: o, owner: ident.StoreID{1}, slot: log.Last}
	for f, v := range map[*int64]int64{&o.PartBytes: 4 << 20, &o.MapBytes: 64 << 30, &o.VerifyBytes: 256 << 20} {
		if *f == 0 {
			*f = v
		}
	}
	files := disk.Files{Dir: dir}
	must(t, os.MkdirAll(dir, 0o700))
	if there, err := disk.Exists(files.StatePath()); err != nil || !there {
		must(t, err)
		must(t, Create(files.StatePath(), s.owner))
	}
	failure := disk.NewFailure()
	account := space.NewAccount(failure, files, quotaBytes, reserveBytes)
	account.Reserve.Open()
	s.DB = New(failure, files, o, account)
	t.Cleanup(func() { s.Close() })
	adopt := func(multipaxos.Slot, ident.Membership) error { return nil }
	if _, _, err := s.Install(s.owner, log, adopt); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Open(s.owner, log); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	must(t, s.Refresh())
	if err := s.ShapeRedo(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Start()
	return s, nil
}

// open opens the state database in dir beside a log in which every slot is durable.
func open(t testing.TB, dir string, o Options) *testDB {
	t.Helper()
	s, err := tryOpen(t, dir, o, wholeLog)
	must(t, err)
	return s
}

// reopen closes s and opens its directory again.
func reopen(t testing.TB, s *testDB) *testDB {
	t.Helper()
	must(t, s.Close())
	return open(t, s.files.Dir, s.options)
}

// Close ends s as that of a Store ends. It may be called more than once.
func (s *testDB) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.failure.Fail(disk.ErrClosed)
	return errors.Join(s.DB.Close(ViewsFor), s.room.space.Reserve.Close())
}

// die ends s as a crash of its process does.
func die(t testing.TB, s *testDB) {
	t.Helper()
	s.failure.Fail(errors.New("the process died"))
	must(t, s.Close())
}

// Refresh measures s anew.
func (s *testDB) Refresh() error {
	return s.room.space.Refresh(func() (space.Taken, error) {
		m, err := s.Measure()
		return space.Taken{State: m}, err
	})
}

// Checkpoint checkpoints f beside the log.
// Checkpoint checkpoints a list of changes.
func (s *testDB) Checkpoint(f *listed) error {
	return s.DB.Checkpoint(&kv.Checkpoint{Slot: f.Slot, Meta: f.Meta, Changes: slices.Values(f.Changes)}, s.slot)
}

// listed is a checkpoint with a list of changes.
type listed struct {
	Slot    uint64
	Meta    []byte
	Changes []kv.Change
}

// checkpointKeys checkpoints through slot keys named by number, from to to, with a value each.
func checkpointKeys(t testing.TB, s *testDB, slot uint64, from, to int, value string) {
	t.Helper()
	f := &listed{Slot: slot, Meta: []byte("meta of " + value)}
	for i := from; i < to; i++ {
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i),
			Value: fmt.Appendf(nil, "%s%d", value, i)})
	}
	must(t, s.Checkpoint(f))
}

func viewOf(t testing.TB, s *testDB) kv.StateDB {
	t.Helper()
	v, err := s.View()
	must(t, err)
	t.Cleanup(v.Close) // before the database's, which waits for it
	return v
}

// content is all that s can be asked for, as text, to compare two states.
func content(s *testDB) (string, error) {
	slot, meta, err := s.Loaded()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q\n", slot, meta)
	v, err := s.View()
	if err != nil {
		return "", err
	}
	defer v.Close()
	for kind := range 256 {
		err := v.Ascend(kv.RecordKind(kind), nil, func(k, value []byte) bool {
			fmt.Fprintf(&b, "%d %s %s\n", kind, k, value)
			return true
		})
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func mustContent(t testing.TB, s *testDB) string {
	t.Helper()
	c, err := content(s)
	must(t, err)
	return c
}
