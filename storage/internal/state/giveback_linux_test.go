package state

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
	"tenure/storage/internal/pages"

	bolt "go.etcd.io/bbolt"
)

// halfEmpty is a store whose state.db is mostly free: it had n keys with 4 KiB each, and one of eight is left.
func halfEmpty(t *testing.T, dir string, n int) *testDB {
	t.Helper()
	s := open(t, dir, Options{})
	checkpointValues(t, s, 1, n, func(i int) string { return value4K(i) })
	checkpointValues(t, s, 2, n, func(i int) string {
		if i%8 == 0 {
			return value4K(i)
		}
		return ""
	})
	checkpointValues(t, s, 3, 1, func(int) string { return value4K(0) }) // what was freed is available
	must(t, s.Refresh())
	return s
}

func value4K(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat("v", 4096)) }

// checkpointValues checkpoints keys 0 to n with what value returns, "" for a deletion.
func checkpointValues(t testing.TB, s *testDB, slot, n int, value func(i int) string) {
	t.Helper()
	f := &listed{Slot: uint64(slot), Meta: []byte("meta")}
	for i := range n {
		c := kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i)}
		if v := value(i); v != "" {
			c.Value = []byte(v)
		}
		f.Changes = append(f.Changes, c)
	}
	must(t, s.Checkpoint(f))
}

const fullPace = 1 << 40 // bytes a second

func blocksOf(t *testing.T, s *testDB) (free, live int64) {
	t.Helper()
	m, err := s.Measure()
	must(t, err)
	return m.Reusable, m.Live
}

// TestFreePagesAreGivenBack: the file system gets what the file does not need, and the state stays what it was.
func TestFreePagesAreGivenBack(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "512m")
	s := halfEmpty(t, dir, 10_000)
	want, err := content(s)
	must(t, err)
	before := disktest.Free(t, dir)
	given, err := s.GiveBack(context.Background(), fullPace)
	must(t, err)
	free, live := blocksOf(t, s)
	if got := disktest.Free(t, dir) - before; given < 16<<20 || got != given || uint64(given) != s.Stats().GivenBack {
		t.Errorf("%d bytes given back, and %d more are free; counted %d", given, got, s.Stats().GivenBack)
	}
	if free < max(live/2, keptFree) || free > max(live/2, keptFree)+2*giveBackStep {
		t.Errorf("%d bytes are kept free beside %d in use", free, live)
	}
	if again, err := s.GiveBack(context.Background(), fullPace); again != 0 || err != nil {
		t.Errorf("%d bytes given back again, %v", again, err)
	}
	must(t, s.Scrub(context.Background(), fullPace))
	s = reopen(t, s)
	if got, err := content(s); err != nil || got != want {
		t.Errorf("another state after a restart: %v", err)
	}
	checkpointValues(t, s, 4, 10_000, value4K) // the holes are filled again
	s = reopen(t, s)
	must(t, s.Verify(context.Background()))
}

// A view that is older than what freed the pages reads them still, and they are given back when it is closed.
func TestPagesOfAnOpenViewAreNotGivenBack(t *testing.T) {
	const n = 10_000
	s := open(t, disktest.SmallFileSystem(t, "512m"), Options{})
	checkpointValues(t, s, 1, n, value4K)
	v, err := s.View()
	must(t, err)
	defer v.Close()
	checkpointValues(t, s, 2, n, func(int) string { return "" })
	checkpointValues(t, s, 3, 1, value4K)
	checkpointValues(t, s, 4, 1, value4K)
	if _, err := s.GiveBack(context.Background(), fullPace); err != nil {
		t.Fatal(err)
	}
	read := 0
	must(t, v.Ascend(kv.KindData, nil, func(key, value []byte) bool {
		if string(value) != value4K(read) {
			t.Fatalf("%s holds %.20q", key, value)
		}
		read++
		return true
	}))
	if read != n {
		t.Errorf("the view has %d keys, want %d", read, n)
	}
	v.Close()
	checkpointValues(t, s, 5, 1, value4K)
	checkpointValues(t, s, 6, 1, value4K)
	if given, err := s.GiveBack(context.Background(), fullPace); err != nil || given < 16<<20 {
		t.Errorf("%d bytes given back after the view, %v", given, err)
	}
}

// A view that bbolt has just begun is not among the open ones yet: what it may read is not asked for meanwhile.
func TestPagesOfAViewThatIsBeingOpenedAreNotGivenBack(t *testing.T) {
	s := open(t, t.TempDir(), small)
	checkpointValues(t, s, 1, 1_000, value4K)
	asked := make(chan pages.FreeList)
	v, err := s.checked.View(func() (*bolt.Tx, error) {
		tx, err := s.db.Begin(false)
		must(t, err)
		checkpointValues(t, s, 2, 1_000, func(int) string { return "" })
		go func() { asked <- s.checked.Reusable() }()
		select {
		case <-asked:
			must(t, tx.Rollback())
			t.Fatal("the pages that nobody reads are told while a view is being opened")
		case <-time.After(100 * time.Millisecond):
		}
		return tx, nil
	})
	must(t, err)
	<-asked
	v.Close()
}

// A crash may leave anything in pages that are given back: zeros, the old content, or garbage. No reader reads them.
func TestNobodyReadsWhatIsGivenBack(t *testing.T) {
	s := halfEmpty(t, t.TempDir(), 2_000)
	want, err := content(s)
	must(t, err)
	free := s.checked.Reusable()
	pageBytes := s.checked.Newest().PageBytes
	var pages []uint64
	_, err = free.LastRuns(math.MaxUint64, math.MaxUint64, math.MaxInt, func(first, n uint64) error {
		for id := first; id < first+n; id++ {
			pages = append(pages, id)
		}
		return nil
	})
	must(t, err)
	if len(pages) < 1000 {
		t.Fatalf("%d pages are free", len(pages))
	}
	must(t, s.Close())
	f, err := os.OpenFile(filepath.Join(s.files.Dir, disk.StateName), os.O_RDWR, 0)
	must(t, err)
	for _, id := range pages {
		_, err := f.WriteAt([]byte(strings.Repeat("\xa5", pageBytes)), int64(id)*int64(pageBytes))
		must(t, err)
	}
	must(t, f.Close())
	s = open(t, s.files.Dir, s.options)
	must(t, s.Verify(context.Background()))
	if got, err := content(s); err != nil || got != want {
		t.Errorf("another state: %v", err)
	}
}

// TestGivingBackHoldsUpNobody: reads go on beside it; how long the longest took is logged, with and without it.
func TestGivingBackHoldsUpNobody(t *testing.T) {
	s := halfEmpty(t, t.TempDir(), 10_000)
	work := func(until <-chan error) {
		var read time.Duration
		for n := 0; n < 100 || until != nil; n++ {
			began := time.Now()
			v, err := s.View()
			must(t, err)
			if b, err := v.Get(kv.KindData, []byte("key000008")); err != nil || string(b) != value4K(8) {
				t.Fatalf("%.20q %v", b, err)
			}
			v.Close()
			read = max(read, time.Since(began))
			select {
			case err := <-until:
				must(t, err)
				until, n = nil, 100
			default:
			}
		}
		t.Logf("longest read %v", read)
	}
	work(nil)
	done := make(chan error, 1)
	go func() {
		_, err := s.GiveBack(context.Background(), 64<<20)
		done <- err
	}()
	work(done)
	if s.Stats().GivenBack == 0 {
		t.Error("nothing was given back")
	}
}

// Where little space is left, a checkpoint counts on the free pages before the first hole alone.
func TestHolesAreNoSpaceOfTheFile(t *testing.T) {
	dir := disktest.SmallFileSystem(t, "512m")
	s := halfEmpty(t, dir, 10_000)
	before, err := s.freeRuns(4096)
	must(t, err)
	given, err := s.GiveBack(context.Background(), fullPace)
	must(t, err)
	after, err := s.freeRuns(4096)
	must(t, err)
	if free, _ := blocksOf(t, s); after > free || after >= before || s.solid() > s.room.space.Usage().StateFileBytes-given {
		t.Errorf("%d bytes of %d are free before the first hole, %d have blocks", after, before, free)
	}
}
