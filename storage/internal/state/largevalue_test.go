package state

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"tenure/kv"
	"tenure/storage/internal/disk"
)

// largeLeaf returns a store whose one leaf of data has a large value between small ones, and a place within that value
// in state.db.
func largeLeaf(t *testing.T) (s *testDB, value []byte, at int64) {
	s = open(t, t.TempDir(), small)
	value = bytes.Repeat([]byte("0123456789abcdef"), 32<<10)
	f := &listed{Slot: 1, Changes: []kv.Change{{Kind: kv.KindData, Key: []byte("k"), Value: value}}}
	for _, key := range []string{"a", "b", "y", "z"} {
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: []byte(key), Value: []byte("of " + key)})
	}
	slices.SortFunc(f.Changes, func(a, b kv.Change) int { return bytes.Compare(a.Key, b.Key) })
	must(t, s.Checkpoint(f))
	at = int64(bytes.Index(readFile(t, s.files.StatePath()), value))
	if at < 0 {
		t.Fatal("the value is not in state.db")
	}
	return s, value, at + int64(len(value)/2)
}

// A large value is not read for the sake of the keys beside it: a stranger would have a node read half a megabyte for
// each key that is not there.
func TestALargeValueIsReadOnlyForItself(t *testing.T) {
	s, value, at := largeLeaf(t)
	v := viewOf(t, s)
	for range 2 { // with new buffers and with used ones
		got, err := v.Get(kv.KindData, []byte("k"))
		if err != nil || !bytes.Equal(got, value) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	var walked int
	must(t, v.Ascend(kv.KindData, nil, func(_, value []byte) bool { walked += len(value); return true }))
	if want := len(value) + 4*len("of a"); walked != want {
		t.Errorf("%d bytes of values in all, want %d", walked, want)
	}

	f, err := os.OpenFile(s.files.StatePath(), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("damaged"), at)
	must(t, err)
	for _, key := range []string{"a", "b", "c", "j", "y", "z", "zz"} {
		want := ""
		if len(key) == 1 && key != "c" && key != "j" {
			want = "of " + key
		}
		if got, err := v.Get(kv.KindData, []byte(key)); err != nil || string(got) != want {
			t.Errorf("%s is %q, want %q: %v", key, got, want, err)
		}
	}
	_, err = v.Get(kv.KindData, []byte("k"))
	wantError(t, err, disk.ErrDamaged, ": page ", "fails its checksum")
}

func BenchmarkMissBesideALargeValue(b *testing.B) {
	s := open(b, b.TempDir(), small)
	must(b, s.Checkpoint(&listed{Slot: 1, Changes: []kv.Change{
		{Kind: kv.KindData, Key: []byte("k"), Value: make([]byte, 512<<10)}}}))
	v := viewOf(b, s)
	b.ReportAllocs()
	for i := range b.N {
		if _, err := v.Get(kv.KindData, fmt.Append(nil, i)); err != nil {
			b.Fatal(err)
		}
	}
}
