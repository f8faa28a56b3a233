package state

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

// valueOf is what v has of key.
func valueOf(t *testing.T, v kv.StateDB, key string) string {
	t.Helper()
	value, err := v.Get(kv.KindData, []byte(key))
	must(t, err)
	return string(value)
}

// Views of one checkpoint are one transaction of bbolt's, which stays open for the next one. Each closes for itself.
func TestViewsShareATransaction(t *testing.T) {
	s := treeStore(t, small)
	open := func() int { return s.db.Stats().OpenTxN }
	a, b := viewOf(t, s), viewOf(t, s)
	if n := open(); n != 1 {
		t.Errorf("%d transactions are open for two views", n)
	}
	a.Close()
	a.Close()
	if got := valueOf(t, b, "key001000"); got != "v1000" {
		t.Errorf("%q after the other view was closed", got)
	}
	b.Close()
	if n := open(); n != 1 {
		t.Errorf("%d transactions are open between two views", n)
	}
	viewOf(t, s).Close()
	began := time.Now()
	must(t, s.Close())
	if took := time.Since(began); took > ViewsFor/2 {
		t.Errorf("it took %v to close, with no view open", took)
	}
}

// While a checkpoint is made, no transaction is open for views that there are not: bbolt would keep its pages, and wait
// for it when the file outgrows its map.
func TestNoViewIsKeptDuringACheckpoint(t *testing.T) {
	s := treeStore(t, small)
	before := viewOf(t, s)
	viewOf(t, s).Close()
	open := func() int { return s.db.Stats().OpenTxN }
	looked := false
	changes := func(yield func(kv.Change) bool) {
		looked = true
		before.Close()
		if n := open(); n != 0 {
			t.Errorf("%d transactions are open and no view", n)
		}
		a, b := viewOf(t, s), viewOf(t, s)
		a.Close()
		b.Close()
		if n := open(); n != 0 {
			t.Errorf("%d transactions stay open", n)
		}
		yield(kv.Change{Kind: kv.KindData, Key: []byte("key001000"), Value: []byte("new")})
	}
	must(t, s.DB.Checkpoint(&kv.Checkpoint{Slot: 1, Changes: changes}, s.slot))
	if !looked {
		t.Fatal("nobody looked")
	}
}

// A view that is opened after a checkpoint has it, also if one that began before it is being opened still. The older
// view goes on seeing what it saw.
func TestNoViewJoinsAnOlderOne(t *testing.T) {
	s := treeStore(t, small)
	older, err := s.pin()
	must(t, err)
	defer older.Close()
	checkpointKeys(t, s, 1, 1000, 1001, "new")
	s.checked.ShareView(older)
	if got := valueOf(t, viewOf(t, s), "key001000"); got != "new1000" {
		t.Errorf("%q after the checkpoint", got)
	}
	if got := valueOf(t, &view{file: s.stateFile, pages: older}, "key001000"); got != "v1000" {
		t.Errorf("%q in the view before it", got)
	}
}

// Views of any age see their own checkpoint, while pages are replaced and used again under copies in memory.
func TestEachViewSeesItsOwnPages(t *testing.T) {
	s := treeStore(t, small)
	r := rand.New(rand.NewPCG(1, 2))
	type aged struct {
		view  kv.StateDB
		round int
	}
	var views []aged
	for round := 1; round <= 30; round++ {
		var changes []kv.Change
		for i := r.IntN(20); i < 2000; i += 1 + r.IntN(40) {
			changes = append(changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i),
				Value: []byte(strconv.Itoa(round))})
		}
		changes = append(changes, kv.Change{Kind: kv.KindData, Key: []byte("round"),
			Value: []byte(strconv.Itoa(round))})
		must(t, s.Checkpoint(&listed{Slot: 1, Changes: changes}))
		views = append(views, aged{viewOf(t, s), round})
		if len(views) > 5 {
			i := r.IntN(len(views))
			views[i].view.Close()
			views = append(views[:i], views[i+1:]...)
		}
		for _, v := range views {
			if got := valueOf(t, v.view, "round"); got != strconv.Itoa(v.round) {
				t.Fatalf("a view of round %d is of round %s in round %d", v.round, got, round)
			}
			must(t, v.view.Ascend(kv.KindData, nil, func(key, value []byte) bool {
				if of, err := strconv.Atoi(string(value)); err == nil && of > v.round {
					t.Fatalf("a view of round %d has %s of round %d", v.round, key, of)
				}
				return true
			}))
		}
	}
}

// Gets and listings beside checkpoints find each key with a value of a checkpoint that was the newest meanwhile.
func TestReadsBesideCheckpoints(t *testing.T) {
	s := treeStore(t, small)
	checkpointRound := func(round int) {
		f := &listed{Slot: 1}
		for i := 1000; i < 1600; i++ {
			f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i),
				Value: []byte(strconv.Itoa(round))})
		}
		must(t, s.Checkpoint(f))
	}
	checkpointRound(0)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			last := 0
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				v, err := s.View()
				if err != nil {
					t.Error(err)
					return
				}
				n, rounds := 0, map[string]bool{}
				err = v.Ascend(kv.KindData, []byte("key001000"), func(_, value []byte) bool {
					rounds[string(value)] = true
					n++
					return n < 100
				})
				value, other := v.Get(kv.KindData, []byte("key001500"))
				v.Close()
				round, _ := strconv.Atoi(string(value))
				if err != nil || other != nil || n != 100 || len(rounds) != 1 || !rounds[string(value)] ||
					round < last {
					t.Errorf("%d keys of rounds %v and %q after %d: %v, %v", n, rounds, value, last, err, other)
					return
				}
				last = round
			}
		})
	}
	for round := 1; round <= 20; round++ {
		checkpointRound(round)
	}
	close(done)
	wg.Wait()
}

// The copies of branches that a checkpoint has replaced leave the memory: those of the newest transaction are left.
func TestReplacedBranchesLeaveTheMemory(t *testing.T) {
	s := treeStore(t, small)
	branches := 0
	for round := range 6 {
		checkpointKeys(t, s, 1, 0, 2000, fmt.Sprint("round ", round, " "))
		viewed := viewOf(t, s)
		for i := range 2000 {
			valueOf(t, viewed, fmt.Sprintf("key%06d", i))
		}
		viewed.Close()
		branches = 0
		for _, p := range disktest.PagesOf(t, readFile(t, s.files.StatePath()), disktest.Branch) {
			if !s.checked.Free().Has(p.ID) {
				branches++
			}
		}
	}
	// Beside branches there is the leaf of the buckets.
	if n, most := s.checked.CachedBytes(), (branches+1)*s.checked.Newest().PageBytes; n > most || n == 0 {
		t.Errorf("%d bytes of copies, and %d branches are in use", n, branches)
	}
}

// Damage in a leaf that a listing has read ahead is noticed when the listing comes there, and no earlier.
func TestDamageInWhatWasReadAheadIsNotServed(t *testing.T) {
	for name, scan := range map[string]func(v kv.StateDB, fn func(key, value []byte) bool) error{
		"upwards":   func(v kv.StateDB, fn func(key, value []byte) bool) error { return v.Ascend(kv.KindData, nil, fn) },
		"downwards": func(v kv.StateDB, fn func(key, value []byte) bool) error { return v.Descend(kv.KindData, nil, fn) },
	} {
		t.Run(name, func(t *testing.T) {
			s := treeStore(t, small)
			leaf := leafOf(t, s, "key001005")
			b := readFile(t, s.files.StatePath())
			at := pageAt(s, leaf.ID+1) - 1
			patchAt(t, s.files.StatePath(), at, []byte{b[at] ^ 1})
			v, seen := viewOf(t, s), 0
			err := scan(v, func(key, _ []byte) bool {
				if string(key) == "key001005" {
					t.Errorf("%s was served", key)
				}
				seen++
				return true
			})
			wantError(t, err, disk.ErrDamaged, fmt.Sprintf("page %d fails its checksum", leaf.ID))
			if seen < 500 {
				t.Errorf("only %d keys were served before it", seen)
			}
		})
	}
}
