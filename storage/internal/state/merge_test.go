package state

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
)

// parted are options under which a hundred changes of some 60 bytes are a checkpoint of several parts.
var parted = Options{PartBytes: 1000}

// halfCheckpoint is a checkpoint through slot that rewrites, deletes and adds to the keys of checkpointKeys(0, 100), in
// two spaces.
func halfCheckpoint(slot uint64) *listed {
	f := &listed{Slot: slot, Meta: fmt.Appendf(nil, "meta of %d", slot)}
	for i := range 200 {
		c := kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i)}
		if i%3 != 0 {
			c.Value = fmt.Appendf(nil, "%d in %s", slot, strings.Repeat("v", 50))
		}
		if i == 100 {
			c.Value = []byte{}
		}
		f.Changes = append(f.Changes, c)
	}
	for i := range 20 {
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindDedup, Key: fmt.Appendf(nil, "key%06d", i),
			Value: []byte{byte(slot)}})
	}
	return f
}

// checkpointingStore is a store with a state database of slot 5 and a log through slot 20.
func checkpointingStore(t *testing.T) *testDB {
	t.Helper()
	s := open(t, t.TempDir(), parted)
	checkpointKeys(t, s, 5, 0, 100, "old")
	return s
}

// cutOff makes the first parts of f, then ends s. It tells whether they were all.
func cutOff(t *testing.T, s *testDB, f *listed, parts int) bool {
	t.Helper()
	plan := Plan{Slot: f.Slot, Meta: f.Meta}
	must(t, s.redo.write(slices.Values(f.Changes), &plan, s.DB.options.PartBytes))
	rest := f.Changes
	for range parts {
		n := s.room.nextPart(rest).n
		must(t, s.mergeParts(&plan, slices.Values(rest[:n])))
		rest = rest[n:]
	}
	die(t, s)
	return len(rest) == 0
}

func TestCheckpointOfSeveralPartsIsACheckpoint(t *testing.T) {
	s := checkpointingStore(t)
	must(t, s.Checkpoint(halfCheckpoint(9)))
	want := mustContent(t, s)
	if s = reopen(t, s); mustContent(t, s) != want || s.Stats().Resumed != 0 {
		t.Errorf("another state, or a checkpoint that was resumed: %+v", s.Stats())
	}
	must(t, s.Checkpoint(halfCheckpoint(12))) // over the redo file of the one before
	whole := checkpointingStore(t)
	whole.DB.options.PartBytes = 1 << 30
	must(t, whole.Checkpoint(halfCheckpoint(9)))
	must(t, whole.Checkpoint(halfCheckpoint(12)))
	if got, want := s.checkpointed.Load(), whole.checkpointed.Load(); got.Records != want.Records ||
		got.Slot != 12 || got.Plan.Bytes != 0 {
		t.Errorf("%+v, in one transaction %+v", got, want)
	}
	must(t, s.Verify(t.Context()))
}

// Wherever a checkpoint is cut off, the next start has it whole, or not at all if it was before the first part.
func TestCheckpointThatWasCutOffIsMadeWhole(t *testing.T) {
	t.Parallel()
	s := checkpointingStore(t)
	old := mustContent(t, s)
	must(t, s.Checkpoint(halfCheckpoint(9)))
	want := mustContent(t, s)
	for parts, last := 0, false; !last; parts++ {
		s := checkpointingStore(t)
		last = cutOff(t, s, halfCheckpoint(9), parts)
		s = open(t, s.files.Dir, parted)
		expect, resumed := want, uint64(1)
		if parts == 0 {
			expect = old
		}
		if parts == 0 || last {
			resumed = 0
		}
		if got := mustContent(t, s); got != expect || s.Stats().Resumed != resumed {
			t.Fatalf("after %d parts: %d checkpoints were resumed; the state is\n%.300s", parts, s.Stats().Resumed, got)
		}
		must(t, s.Verify(t.Context()))
		s = reopen(t, s)
		if s.Stats().Resumed != 0 {
			t.Errorf("after %d parts the checkpoint is resumed again and again", parts)
		}
		must(t, s.Checkpoint(halfCheckpoint(15)))
		if last && parts < 5 {
			t.Fatalf("only %d parts", parts)
		}
	}
}

// In the middle of a checkpoint the store says that it is at the one before, from which the log is applied again.
func TestLoadedInTheMiddleOfACheckpoint(t *testing.T) {
	s := checkpointingStore(t)
	f := halfCheckpoint(9)
	plan := Plan{Slot: f.Slot, Meta: f.Meta}
	must(t, s.redo.write(slices.Values(f.Changes), &plan, s.DB.options.PartBytes))
	must(t, s.mergeParts(&plan, slices.Values(f.Changes[:50])))
	slot, meta, err := s.Loaded()
	if must(t, err); slot != 5 || string(meta) != "meta of old" || s.Checkpointed() != 5 {
		t.Errorf("slot %d, meta %q, checkpointed %d", slot, meta, s.Checkpointed())
	}
	must(t, s.Verify(t.Context()))
	must(t, s.mergeParts(&plan, slices.Values(f.Changes[50:])))
	if slot, meta, _ = s.Loaded(); slot != 9 || string(meta) != "meta of 9" {
		t.Errorf("slot %d, meta %q", slot, meta)
	}
}

// A redo file other than the one written refuses the start, and no change in it is merged.
func TestDamagedRedoIsRefused(t *testing.T) {
	t.Parallel()
	s := checkpointingStore(t)
	must(t, s.Checkpoint(halfCheckpoint(8)))
	path := s.files.RedoPath()
	older := readFile(t, path)
	cutOff(t, s, halfCheckpoint(9), 2)
	good := readFile(t, path)
	statePath := s.files.StatePath()
	state := readFile(t, statePath)
	refused := func(what string, words ...string) {
		t.Helper()
		_, err := tryOpen(t, s.files.Dir, parted, wholeLog)
		if !errors.Is(err, disk.ErrDamaged) {
			t.Fatalf("%s: %v", what, err)
		}
		wantError(t, err, disk.ErrDamaged, append(words, path)...)
		if string(readFile(t, statePath)) != string(state) {
			t.Fatalf("%s: state.db was changed", what)
		}
	}
	denser := 60
	if testing.Short() {
		denser = 10
	}
	for at := 0; at < len(good); at += 1 + at/denser {
		bad := append([]byte(nil), good...)
		bad[at] ^= 1 << (at % 8)
		overwrite(t, path, bad)
		refused(fmt.Sprintf("byte %d", at))
	}
	overwrite(t, path, good[:len(good)-1])
	refused("cut short")
	overwrite(t, path, older)
	refused("that of the checkpoint before")
	must(t, os.Remove(path))
	refused("gone", "is missing")
	must(t, os.WriteFile(path, good, 0o600))
	if s := open(t, s.files.Dir, parted); s.Checkpointed() != 9 || s.Stats().Resumed != 1 {
		t.Errorf("checkpointed through %d, %+v", s.Checkpointed(), s.Stats())
	}
}

// Close beside a checkpoint lets the part that runs end; the next start makes the rest.
func TestCloseBesideACheckpoint(t *testing.T) {
	t.Parallel()
	cut := uint64(0)
	for range 20 {
		s := checkpointingStore(t)
		before := s.checkpointed.Load()
		done := make(chan error)
		go func() { done <- s.Checkpoint(halfCheckpoint(9)) }()
		for s.checkpointed.Load() == before && s.failure.Err() == nil { // until a part was made
			runtime.Gosched()
		}
		must(t, s.Close())
		if err := <-done; err != nil {
			wantError(t, err, disk.ErrClosed)
		}
		if s = open(t, s.files.Dir, parted); s.Checkpointed() != 9 {
			t.Fatalf("checkpointed through %d", s.Checkpointed())
		}
		cut += s.Stats().Resumed
	}
	if cut == 0 {
		t.Error("no checkpoint was cut off by Close")
	}
}

// A value larger than a part is a part.
func TestPartsOfLargeValues(t *testing.T) {
	s := checkpointingStore(t)
	f := &listed{Slot: 9}
	for i := range 5 {
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "k%d", i),
			Value: []byte(strings.Repeat("v", 100_000))})
	}
	cutOff(t, s, f, 3)
	s = open(t, s.files.Dir, parted)
	v := viewOf(t, s)
	defer v.Close()
	for i := range f.Changes {
		value, err := v.Get(kv.KindData, f.Changes[i].Key)
		if must(t, err); len(value) != 100_000 {
			t.Errorf("%s has %d bytes", f.Changes[i].Key, len(value))
		}
	}
}

func FuzzReadRedo(f *testing.F) {
	var all sealed.Digest
	var b []byte
	checkpoint := halfCheckpoint(9)
	for i := range checkpoint.Changes[:10] {
		b = appendRedo(b, &checkpoint.Changes[i], &all)
	}
	f.Add(b, uint64(10))
	f.Add(b[:5], uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, n uint64) {
		plan := Plan{Bytes: int64(len(b)), Changes: sealed.Digest{Count: n}}
		_ = CheckRedo(strings.NewReader(string(b)), &plan)
	})
}

// A checkpoint in the middle reaches as far as a whole one: a log that ends before is an older copy.
func TestLogBehindAHalfCheckpointIsRefused(t *testing.T) {
	s := open(t, t.TempDir(), parted)
	cutOff(t, s, halfCheckpoint(9), 2)
	_, err := tryOpen(t, s.files.Dir, parted, multipaxos.Durable{Last: 5})
	wantError(t, err, disk.ErrDamaged, "older copy")
}

// However short the changes are, a part has a bounded number of them: each may cost a page in memory.
func TestPartsOfShortChangesAreBounded(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	transactions := func() (id int) {
		must(t, s.db.View(func(tx *bolt.Tx) error { id = tx.ID(); return nil }))
		return id
	}
	for slot, c := range []struct{ changes, parts int }{
		{partChanges, 1}, {2*partChanges + 1, 3},
	} {
		f := &listed{Slot: uint64(slot + 1), Meta: []byte("meta")}
		for i := range c.changes {
			change := kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "%06d", i)}
			if (slot+i)%2 == 0 {
				change.Value = []byte{1}
			}
			f.Changes = append(f.Changes, change)
		}
		before := transactions()
		must(t, s.Checkpoint(f))
		if got := transactions() - before; got != c.parts {
			t.Errorf("%d changes were made in %d transactions, want %d", c.changes, got, c.parts)
		}
	}
}
