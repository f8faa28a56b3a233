package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

// Damage that random flips seldom hit, each with the check that is there for it.

// openWith opens and verifies a store with b in the place of one file. Not every page of a file is in use.
func openWith(t *testing.T, dir, path string, b []byte, o Options) error {
	t.Helper()
	good := readFile(t, path)
	overwrite(t, path, b)
	defer overwrite(t, path, good)
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Verify(t.Context())
}

// A smaller count in a leaf's header hides records without breaking anything else: only the digest shows it.
func TestHiddenRecordsShowInTheDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sampleStore(t, dir)
	logPath, statePath := paths(dir)
	for _, c := range []struct {
		path string
		o    Options
		say  string
	}{{logPath, small, "should hold"}, {statePath, small, "should hold"},
		{statePath, Options{VerifyBytes: 1}, "fails its checksum"}} {
		sums := filepath.Join(dir, disk.SumsName)
		if c.path == statePath && c.o.VerifyBytes == 0 { // as an earlier version left it
			must(t, os.Remove(sums))
		}
		seen := 0
		for _, p := range disktest.PagesOf(t, readFile(t, c.path), disktest.Leaf) {
			b := readFile(t, c.path)
			disktest.RawPageOf(b, int(p.ID)).SetCount(p.Count() - 1)
			err := openWith(t, dir, c.path, b, c.o)
			if c.path == statePath && c.o.VerifyBytes == 0 {
				must(t, os.RemoveAll(sums)) // of a change that hit no page in use
			}
			if err != nil {
				wantError(t, err, ErrDamaged, c.say)
				if seen++; seen == 8 {
					break
				}
			}
		}
		if seen < 5 {
			t.Errorf("%s, verify %d: seen %d times", c.path, c.o.VerifyBytes, seen)
		}
		must(t, open(t, dir, small).Close()) // with checksums again
	}
}

// bbolt would go on from the older meta page, and forget the last transaction.
func TestEitherMetaPageMustHold(t *testing.T) {
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 10, 10)
	checkpointKeys(t, s, 0, 10, "v")
	must(t, s.Close())
	logPath, statePath := paths(dir)
	for _, path := range []string{logPath, statePath} {
		for _, at := range []int{0, 4096} {
			for off := disktest.HeadBytes; off < disktest.HeadBytes+disktest.MetaBytes; off += 5 {
				b := readFile(t, path)
				b[at+off] ^= 1 << (off % 8)
				wantError(t, openWith(t, dir, path, b, small), ErrDamaged, path)
			}
		}
		// A meta page that was never written, though the next one was.
		s := open(t, dir, small)
		before := readFile(t, path)
		fill(t, s, 1, 1)
		must(t, s.log.Flush())
		checkpointKeys(t, s, 0, 1, "x")
		fill(t, s, 1, 1)
		must(t, s.log.Flush())
		checkpointKeys(t, s, 0, 1, "x")
		fill(t, s, 1, 1)
		must(t, s.log.Flush())
		checkpointKeys(t, s, 0, 1, "x")
		must(t, s.Close())
		after := readFile(t, path)
		_, older := disktest.MetaAt(t, after)
		copy(after[older:older+4096], before[older:older+4096])
		wantError(t, openWith(t, dir, path, after, small), ErrDamaged, "a synced write was lost")
	}
}

// A branch key that moved sends a search to the wrong leaf: the branch's checksum shows it.
func TestMisledSearchIsDamage(t *testing.T) {
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 1, 1)
	checkpointKeys(t, s, 0, 2000, "v")
	must(t, s.Close())
	_, path := paths(dir)
	lazy := Options{VerifyBytes: 1}
	for _, shift := range []int{+2, -2} {
		b := readFile(t, path)
		var key []byte
		for _, p := range disktest.PagesOf(t, b, disktest.Branch) {
			key = p.Key(2)
		}
		var n int
		fmt.Sscanf(string(key), "key%06d", &n)
		if n == 0 {
			t.Fatalf("branch key %q", key)
		}
		copy(key, fmt.Sprintf("key%06d", n+shift))
		hidden := n + shift/2 // between the true border and the false one
		good := readFile(t, path)
		s := open(t, dir, lazy)
		overwrite(t, path, b)
		v := viewOf(t, s)
		_, err := v.Get(kv.KindData, fmt.Appendf(nil, "key%06d", hidden))
		wantError(t, err, ErrDamaged, path, "fails its checksum")
		v.Close()
		must(t, s.Close())
		overwrite(t, path, good)
	}
}
