package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/sealed"
)

func keys(t testing.TB, walk func(fn func(k, v []byte) bool) error, limit int) string {
	t.Helper()
	var out []string
	must(t, walk(func(k, v []byte) bool {
		out = append(out, fmt.Sprintf("%s=%s", k, v))
		return len(out) < limit
	}))
	return strings.Join(out, " ")
}

func TestCheckpointIsReadBackAfterAReopen(t *testing.T) {
	s := open(t, t.TempDir(), small)
	change := func(kind kv.RecordKind, key, value string) kv.Change {
		return kv.Change{Kind: kind, Key: []byte(key), Value: []byte(value)}
	}
	must(t, s.Checkpoint(&listed{Slot: 7, Meta: []byte("m7"), Changes: []kv.Change{
		change(1, "a", "1"), change(1, "b", ""), change(1, "c", "3"), change(2, "a", "dedup"),
	}}))
	must(t, s.Checkpoint(&listed{Slot: 9, Meta: []byte("m9"), Changes: []kv.Change{
		{Kind: 1, Key: []byte("a")}, change(1, "c", "33"), {Kind: 1, Key: []byte("cc")}, change(1, "d", "4"),
	}}))
	for range 2 {
		slot, meta, err := s.Loaded()
		if slot != 9 || string(meta) != "m9" || err != nil || s.Checkpointed() != 9 {
			t.Fatalf("%d %q %v", slot, meta, err)
		}
		v := viewOf(t, s)
		for key, want := range map[string]string{"a": "-", "b": "", "c": "33", "d": "4", "": "-", "zz": "-",
			"bb": "-"} {
			got, err := v.Get(1, []byte(key))
			must(t, err)
			if (got == nil) != (want == "-") || (got != nil && string(got) != want) {
				t.Errorf("%q is %q, want %q", key, got, want)
			}
		}
		for _, r := range []struct {
			name string
			walk func(fn func(k, v []byte) bool) error
			n    int
			want string
		}{
			{"all", func(fn func(k, v []byte) bool) error { return v.Ascend(1, nil, fn) }, 9, "b= c=33 d=4"},
			{"from a key", func(fn func(k, v []byte) bool) error { return v.Ascend(1, []byte("c"), fn) }, 9,
				"c=33 d=4"},
			{"from between", func(fn func(k, v []byte) bool) error { return v.Ascend(1, []byte("bb"), fn) }, 1, "c=33"},
			{"from the end", func(fn func(k, v []byte) bool) error { return v.Ascend(1, []byte("e"), fn) }, 9, ""},
			{"down", func(fn func(k, v []byte) bool) error { return v.Descend(1, nil, fn) }, 9, "d=4 c=33 b="},
			{"down from a key", func(fn func(k, v []byte) bool) error { return v.Descend(1, []byte("d"), fn) }, 9,
				"c=33 b="},
			{"down from behind", func(fn func(k, v []byte) bool) error { return v.Descend(1, []byte("x"), fn) }, 2,
				"d=4 c=33"},
			{"down from before", func(fn func(k, v []byte) bool) error { return v.Descend(1, []byte("b"), fn) }, 9, ""},
			{"other space", func(fn func(k, v []byte) bool) error { return v.Ascend(2, nil, fn) }, 9, "a=dedup"},
			{"no space", func(fn func(k, v []byte) bool) error { return v.Descend(77, nil, fn) }, 9, ""},
		} {
			if got := keys(t, r.walk, r.n); got != r.want {
				t.Errorf("%s: %q, want %q", r.name, got, r.want)
			}
		}
		v.Close()
		v.Close()
		s = reopen(t, s)
	}
}

func TestCheckpointRefusesWhatCannotBe(t *testing.T) {
	s := open(t, t.TempDir(), small)
	s.slot = 5
	must(t, s.Checkpoint(&listed{Slot: 4}))
	one := func(keys ...string) (c []kv.Change) {
		for _, k := range keys {
			c = append(c, kv.Change{Kind: 1, Key: []byte(k), Value: []byte("v")})
		}
		return c
	}
	wantPanic(t, "after one through 4", func() { s.Checkpoint(&listed{Slot: 3}) })
	wantPanic(t, "durable through 5", func() { s.Checkpoint(&listed{Slot: 6}) })
	wantPanic(t, "out of order", func() { s.Checkpoint(&listed{Slot: 5, Changes: one("b", "a")}) })
	wantPanic(t, "out of order", func() { s.Checkpoint(&listed{Slot: 5, Changes: one("a", "a")}) })
	wantPanic(t, "a key of 0", func() { s.Checkpoint(&listed{Slot: 5, Changes: one("")}) })
	must(t, s.Checkpoint(&listed{Slot: 5, Changes: one("a", "b")}))
}

// A view is overtaken by what checkpoints write after it was opened.
func TestAViewIsOvertaken(t *testing.T) {
	s := open(t, t.TempDir(), small)
	checkpointKeys(t, s, 1, 0, 10, "old")
	v := viewOf(t, s)
	defer v.Close()
	before := s.checked.Written()
	checkpointKeys(t, s, 1, 0, 10, "new")
	if after := s.checked.Written(); after <= before || v.Overtaken() {
		t.Errorf("%d bytes written, then %d; overtaken %v", before, after, v.Overtaken())
	}
	v.(*view).since -= overtakenBytes
	if later := viewOf(t, s); !v.Overtaken() || later.Overtaken() {
		t.Errorf("overtaken %v, and one that was opened later %v", v.Overtaken(), later.Overtaken())
	} else {
		later.Close()
	}
}

// A callback's panic is the caller's own, and no damage.
func TestCallbackPanicsPass(t *testing.T) {
	s := open(t, t.TempDir(), small)
	checkpointKeys(t, s, 1, 0, 3, "v")
	v := viewOf(t, s)
	defer v.Close()
	wantPanic(t, "mine", func() { v.Ascend(kv.KindData, nil, func(_, _ []byte) bool { panic("mine") }) })
	must(t, s.Refresh())
}

func TestStateDBIsAMap(t *testing.T) {
	s := open(t, t.TempDir(), small)
	model := map[string]string{}
	slot := 0
	rapid.Check(t, func(t *rapid.T) {
		slot++
		f := &listed{Slot: uint64(slot)}
		for i := range 60 {
			key := fmt.Sprintf("%c%02d", 'a'+i%3, i)
			switch rapid.IntRange(0, 5).Draw(t, key) {
			case 0:
				f.Changes = append(f.Changes, kv.Change{Kind: 1, Key: []byte(key)})
				delete(model, key)
			case 1, 2:
				v := strings.Repeat("v", rapid.IntRange(0, 300).Draw(t, "bytes"))
				f.Changes = append(f.Changes, kv.Change{Kind: 1, Key: []byte(key), Value: []byte(v)})
				model[key] = v
			}
		}
		slices.SortFunc(f.Changes, func(a, b kv.Change) int { return strings.Compare(string(a.Key), string(b.Key)) })
		if err := s.Checkpoint(f); err != nil {
			t.Fatal(err)
		}
		v, err := s.View()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		n := 0
		if err := v.Ascend(1, nil, func(k, value []byte) bool {
			if w, ok := model[string(k)]; !ok || w != string(value) {
				t.Fatalf("%s is %q, want %q %v", k, value, w, ok)
			}
			n++
			return true
		}); err != nil || n != len(model) {
			t.Fatal(n, len(model), err)
		}
	})
	must(t, s.Verify(t.Context()))
	reopen(t, s)
}

// Checkpoints at random places use the same pages again and again. With bbolt's other free list, which picks any run
// that is long enough, no run is left in the end for the list itself. Each checkpoint then puts the list at the end of
// the file, and the file grows without end.
func TestStateDBFileStopsGrowing(t *testing.T) {
	if testing.Short() {
		t.Skip("a long history, in one goroutine")
	}
	t.Parallel()
	s := open(t, t.TempDir(), small)
	const keys, each = 8000, 2000
	r := rand.New(rand.NewPCG(1, 2))
	value := bytes.Repeat([]byte{'v'}, 2500) // a page each
	free := func(checkpoints int) int {
		for range checkpoints {
			seen := viewOf(t, s) // as the state machine holds one
			picked := r.Perm(keys)[:each]
			slices.Sort(picked)
			f := &listed{Slot: 1}
			for _, i := range picked {
				f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i),
					Value: value})
			}
			must(t, s.Checkpoint(f))
			seen.Close()
		}
		return s.db.Stats().FreePageN
	}
	if before, after := free(20), free(80); after > before+500 {
		t.Errorf("%d pages were free after 20 checkpoints, %d after 100", before, after)
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("%d_of_100k", n), func(b *testing.B) {
			s := open(b, b.TempDir(), small)
			value := []byte(strings.Repeat("v", 256))
			all := make([]kv.Change, 100_000)
			for i := range all {
				all[i] = kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i), Value: value}
			}
			must(b, s.Checkpoint(&listed{Slot: 1, Changes: all}))
			r := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				picked := r.Perm(len(all))[:n]
				slices.Sort(picked)
				f := &listed{Slot: 1}
				for _, i := range picked {
					f.Changes = append(f.Changes, all[i])
				}
				b.StartTimer()
				must(b, s.Checkpoint(f))
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s := open(b, b.TempDir(), small)
	checkpointKeys(b, s, 1, 0, 10_000, strings.Repeat("v", 256))
	v := viewOf(b, s)
	defer v.Close()
	for name, key := range map[string]string{"hit": "key005000", "miss": "key005000x"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Get(kv.KindData, []byte(key)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A cursor that comes back to a bucket finds it as it was, whatever it has read meanwhile.
func TestCursorComesBackToABucket(t *testing.T) {
	s := treeStore(t, small)
	f := &listed{Slot: 1}
	for i := range 40 { // one leaf
		key := fmt.Appendf(nil, "key%06d", i)
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindDedup, Key: key, Value: make([]byte, 30)})
	}
	must(t, s.Checkpoint(f))
	var c pages.Cursor
	c.Reset(s.checked, s.checked.Newest())
	data, err := c.FindBucket(bucketNames[kv.KindData])
	must(t, err)
	dedup, err := c.FindBucket(bucketNames[kv.KindDedup])
	must(t, err)
	for range 2 {
		if record, err := c.Find(&data, []byte("key001000")); err != nil || record == nil {
			t.Errorf("a key of many: %q, %v", record, err)
		}
		if record, err := c.Find(&dedup, []byte("key000020")); err != nil || record == nil {
			t.Errorf("a key of few: %q, %v", record, err)
		}
	}
}

// A view is refused once the store has ended, also to a checkpoint that looks for space: after a panic in its Begin
// bbolt would never answer.
func TestNoViewIsPinnedOfAStoreThatHasEnded(t *testing.T) {
	s := open(t, t.TempDir(), small)
	why := s.failure.Fail(disk.Damaged(s.files.StatePath(), "planted"))
	v, err := s.pin()
	if v != nil {
		v.Close()
	}
	if !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("%v, and the store has ended: %v", err, why)
	}
}

// Two checkpoints may end while a view is being opened. Its transaction is not known any more then: it opens another.
func TestAViewIsOpenedAgainIfTwoCheckpointsEndMeanwhile(t *testing.T) {
	s := open(t, t.TempDir(), small)
	begun := 0
	v, err := s.checked.View(func() (*bolt.Tx, error) {
		tx, err := s.db.Begin(false)
		must(t, err)
		if begun++; begun == 1 {
			checkpointKeys(t, s, 1, 0, 1, "1")
			checkpointKeys(t, s, 2, 0, 1, "2")
		}
		return tx, nil
	})
	must(t, err)
	defer v.Close()
	if newest := s.checked.Newest(); begun != 2 || v.Meta.TxID != newest.TxID {
		t.Errorf("opened %d times, and is transaction %d of %d", begun, v.Meta.TxID, newest.TxID)
	}
}

// leafOf returns the leaf of the newest checkpoint in which key lies.
func leafOf(t *testing.T, s *testDB, key string) pages.Leaf {
	t.Helper()
	var c pages.Cursor
	c.Reset(s.checked, s.checked.Newest())
	root, err := c.FindBucket(bucketNames[kv.KindData])
	must(t, err)
	must(t, c.Seek(&root, []byte(key)))
	return c.Leaf()
}

// In the middle of a checkpoint the digest is that of no state, and is not told.
func TestNoDigestInTheMiddleOfACheckpoint(t *testing.T) {
	m := Marks{Slot: 10, Meta: []byte("m"), Records: sealed.Digest{Count: 3, Sum: 7},
		Plan: Plan{Slot: 20}}
	if slot, sum := m.digest(); slot != 0 || sum != 0 {
		t.Errorf("%d %x", slot, sum)
	}
}
