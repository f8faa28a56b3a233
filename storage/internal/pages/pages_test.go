package pages

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// sample makes a bbolt file with its checksums, and opens both. Its buckets have keys of many pages, of one, and none;
// some pages are free, and one value takes several.
func sample(t *testing.T) (c *File, m Meta, want map[string]string) {
	t.Helper()
	dir := t.TempDir()
	path, sumsPath := filepath.Join(dir, "db"), filepath.Join(dir, "sums")
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	var sums Sums
	must(t, sums.Follow(db))
	want = map[string]string{}
	put := func(b *bolt.Bucket, key, value string) {
		must(t, b.Put([]byte(key), []byte(value)))
		want[key] = value
	}
	must(t, db.Update(func(tx *bolt.Tx) error {
		many, err := tx.CreateBucket([]byte("many"))
		must(t, err)
		few, err := tx.CreateBucket([]byte("few"))
		must(t, err)
		for i := range 3000 {
			put(many, fmt.Sprintf("key%06d", i), fmt.Sprint("value ", i))
		}
		put(many, "large", string(bytes.Repeat([]byte("large"), 4000)))
		put(few, "only", "one")
		_, err = tx.CreateBucket([]byte("none"))
		return err
	}))
	must(t, db.Update(func(tx *bolt.Tx) error { // both meta pages are of such a transaction
		put(tx.Bucket([]byte("many")), "key001500", "changed")
		return nil
	}))
	must(t, db.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	must(t, err)
	m, err = NewestMeta(f, info.Size())
	must(t, err)
	must(t, sums.WriteFile(sumsPath, &m))
	c, err = Open(f, &m, sumsPath, os.O_RDWR)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	if !c.Known() {
		t.Fatal("the checksums are not known")
	}
	return c, m, want
}

// A changed byte in any page that is in use ends a walk that checks checksums.
func TestAWalkChecksEachPage(t *testing.T) {
	c, m, want := sample(t)
	w := c.FirstWalker(&m)
	var used []uint64
	check := w.check
	w.check = func(id uint64, data []byte) error {
		for i := range len(data) / m.PageBytes {
			used = append(used, id+uint64(i))
		}
		return check(id, data)
	}
	read := map[string]string{}
	w.Visit = func(_ string, key, record []byte) error {
		read[string(key)] = string(record)
		return nil
	}
	must(t, w.Walk())
	if !maps.Equal(read, want) {
		t.Errorf("%d records, want %d", len(read), len(want))
	}
	free := 0
	for id := range m.HighWater {
		if c.first.has(id) {
			free++
		}
	}
	if len(used) < 20 || free == 0 || len(used)+free+2 != int(m.HighWater) {
		t.Fatalf("%d pages are in use, %d free, of %d", len(used), free, m.HighWater)
	}
	for _, id := range used {
		at := int64(id+1)*int64(m.PageBytes) - 1
		var was [1]byte
		_, err := c.file.ReadAt(was[:], at)
		must(t, err)
		_, err = c.file.WriteAt([]byte{was[0] ^ 1}, at)
		must(t, err)
		if c.Walker(&m).Walk() == nil {
			t.Errorf("page %d was changed and passes", id)
		}
		_, err = c.file.WriteAt(was[:], at)
		must(t, err)
	}
}

// A cursor finds each record, finds none that is not there, and goes through a bucket in both directions.
func TestACursorFindsWhatIsThere(t *testing.T) {
	c, m, want := sample(t)
	var at Cursor
	at.Reset(c, &m)
	bucket := func(name string) *Bucket {
		b, err := at.FindBucket([]byte(name))
		must(t, err)
		return &b
	}
	many, few, none := bucket("many"), bucket("few"), bucket("none")
	if !many.Found || !few.Found || !none.Found || bucket("other").Found {
		t.Fatal("other buckets")
	}
	for key, value := range want {
		b := many
		if key == "only" {
			b = few
		}
		if record, err := at.Find(b, []byte(key)); err != nil || string(record) != value {
			t.Fatalf("%s is %.30q, want %.30q: %v", key, record, value, err)
		}
		for _, beside := range []string{"", key[:len(key)-1], key + "x"} {
			if record, err := at.Find(b, []byte(beside)); err != nil || record != nil {
				t.Fatalf("%q is %.30q: %v", beside, record, err)
			}
		}
		if record, err := at.Find(none, []byte(key)); err != nil || record != nil {
			t.Fatalf("%q is %.30q where nothing is: %v", key, record, err)
		}
	}
	keys := slices.Sorted(maps.Keys(want))
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "only" })
	var up, down []string
	step := func(to *[]string, d int) {
		for must(t, at.Step(d)); at.Inside(); must(t, at.Step(d)) {
			key, _, err := at.Record()
			must(t, err)
			*to = append(*to, string(key))
		}
	}
	must(t, at.SeekLast(many))
	step(&down, -1)
	must(t, at.Seek(many, nil))
	key, _, err := at.Record()
	must(t, err)
	up = append(up, string(key))
	step(&up, +1)
	slices.Reverse(down)
	if !slices.Equal(up, keys) || !slices.Equal(down, keys) {
		t.Errorf("%d keys upwards and %d downwards, want %d", len(up), len(down), len(keys))
	}
}

// LastRuns goes down from the end, cuts a run where it has enough pages, and can be continued.
func TestLastRuns(t *testing.T) {
	free := FreeList{make(bitmap, 2)}
	for _, id := range []uint64{3, 4, 7, 8, 9, 10, 20} {
		free.pages.set(id)
	}
	for _, c := range []struct {
		below, pages uint64
		runs         int
		want         string
		next         uint64
	}{
		{100, 100, 100, "20+1 7+4 3+2", 0},
		{100, 3, 100, "20+1 9+2", 9},
		{9, 100, 100, "7+2 3+2", 0},
		{100, 100, 2, "20+1 7+4", 7},
		{3, 100, 100, "", 0},
	} {
		got := ""
		next, err := free.LastRuns(c.below, c.pages, c.runs, func(first, n uint64) error {
			got += fmt.Sprintf(" %d+%d", first, n)
			return nil
		})
		must(t, err)
		if got = string(bytes.TrimSpace([]byte(got))); got != c.want || next != c.next {
			t.Errorf("below %d, %d pages in %d runs: %q, next %d; want %q, next %d", c.below, c.pages, c.runs, got, next,
				c.want, c.next)
		}
	}
}
