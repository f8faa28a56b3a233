package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tenure/kv"
)

// A directory that is marked is not opened again, for work or for reading, and the error says why and what to do.
// Moving its files aside takes the mark along.
func TestAMarkedDirectoryIsRefused(t *testing.T) {
	s := formed(t, t.TempDir())
	must(t, s.MarkDiffers("at slot 64 its digest is 1, and nodes [1 2] have 2"))
	must(t, s.Close())
	for _, o := range []Options{{}, {Offline: true}} {
		_, err := Open(s.files.Dir, o)
		wantError(t, err, ErrDiffers, "at slot 64", filepath.Join(s.files.Dir, "differs"), "kvnode rejoin", "replace")
	}
	must(t, os.Truncate(filepath.Join(s.files.Dir, "differs"), 0)) // as a crash may leave it
	if _, err := Open(s.files.Dir, Options{}); !errors.Is(err, ErrDiffers) {
		t.Errorf("with an empty mark: %v", err)
	}
	moved, err := SetAside(s.files.Dir, "aside")
	if err != nil || !moved {
		t.Fatal(moved, err)
	}
	open(t, s.files.Dir, Options{})
}

// The digest of the state depends on slot, records and meta record only, not on the checkpoints that led there, the
// store, or a start.
func TestTheDigestIsThatOfTheState(t *testing.T) {
	change := func(key, value string) kv.Change {
		c := kv.Change{Kind: kv.KindData, Key: []byte(key)}
		if value != "" {
			c.Value = []byte(value)
		}
		return c
	}
	a, b := formed(t, t.TempDir()), formed(t, t.TempDir())
	if slot, sum := a.Digest(); slot != 0 || sum != 0 {
		t.Errorf("a new store: %d %x", slot, sum)
	}
	fill(t, a, 40, 10)
	fill(t, b, 40, 10)
	take := func(s *Store, slot uint64, meta string, changes ...kv.Change) {
		t.Helper()
		must(t, checkpoint(s, &listed{Slot: slot, Meta: []byte(meta), Changes: changes}))
	}
	take(a, 10, "m", change("k", "old"), change("l", "1"))
	take(a, 20, "n", change("k", "new"), change("x", ""))
	take(b, 20, "n", change("k", "new"), change("l", "1"))
	slot, sum := a.Digest()
	if other, otherSum := b.Digest(); slot != 20 || other != 20 || sum == 0 || sum != otherSum {
		t.Errorf("the same state: %d %x and %d %x", slot, sum, other, otherSum)
	}
	b = reopen(t, b)
	if _, again := b.Digest(); again != sum {
		t.Errorf("after a start: %x and %x", again, sum)
	}
	for _, x := range []struct {
		what string
		f    listed
	}{
		{"a value", listed{Slot: 20, Meta: []byte("n"), Changes: []kv.Change{change("k", "nex")}}},
		{"a key more", listed{Slot: 20, Meta: []byte("n"), Changes: []kv.Change{change("m", "1")}}},
		{"the meta record", listed{Slot: 20, Meta: []byte("o")}},
		{"the slot", listed{Slot: 21, Meta: []byte("n")}},
	} {
		must(t, checkpoint(b, &x.f))
		if _, other := b.Digest(); other == sum {
			t.Errorf("%s differs, and the digest does not", x.what)
		}
		take(b, x.f.Slot, "n", change("k", "new"), change("m", ""))
	}
}
