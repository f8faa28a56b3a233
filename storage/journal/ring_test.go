package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tenure/internal/ident"
	"tenure/multipaxos"
)

// The layout as it lies on disks: a change here is a change of the format.
func TestFormat(t *testing.T) {
	f := newMemFile(32)
	g, _ := mustOpen(t, f, Home{Generation: 9})
	r := &Record{
		Generation: 9,
		Marks:      multipaxos.Durable{Promised: bal(5), Truncated: 1, Chosen: 2, Last: 4},
		Entries: []multipaxos.Entry{
			{Slot: 3, Ballot: bal(5), Value: []byte("abc")},
			{Slot: 4, Ballot: bal(4), Value: bytes.Repeat([]byte("x"), 500)},
		},
	}
	mustAppend(t, g, r)
	want := func(off int, what string, b ...byte) {
		t.Helper()
		if got := f.disk[off : off+len(b)]; !bytes.Equal(got, b) {
			t.Errorf("%s: % x, want % x", what, got, b)
		}
	}
	long := bodyBytes + (8 + 1 + 1 + 3) + (8 + 1 + 32 + 2 + 500)
	want(4, "number, index, count", 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2)
	want(512+4, "number, index, count", 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 2)
	want(16, "length, generation", 0, 0, byte(long>>8), byte(long), 0, 0, 0, 0, 0, 0, 0, 9)
	want(16+12, "chosen, truncated, last", 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4)
	want(16+36, "promised", 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0,
		0, 4)
	want(16+68, "entries", 0, 0, 0, 2)
	want(16+72, "slot, same ballot, length, value", 0, 0, 0, 0, 0, 0, 0, 3, 0, 3, 'a', 'b', 'c')
	want(16+85, "slot, other ballot", 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 4)
	want(512+16+long-spaceBytes, "zeros behind the body", 0, 0, 0, 0)
	want(1024, "never written", make([]byte, 512)...)
	_, records := mustOpen(t, f, Home{Generation: 9})
	if d := cmp.Diff(records, []Record{*r}); d != "" {
		t.Error(d)
	}
	if f.writes != 2+1 || f.syncs != 1+1 { // each sector again at the second start
		t.Errorf("%d writes, %d syncs", f.writes, f.syncs)
	}
}

// One append is one write and one sync.
func TestAppendWritesOnceAndSyncsOnce(t *testing.T) {
	f := newMemFile(64)
	g, _ := mustOpen(t, f, Home{})
	for i := range 5 {
		mustAppend(t, g, rec(i+1, 1000))
	}
	if f.writes != 5 || f.syncs != 5 || len(f.dirty) != 0 {
		t.Errorf("%d writes, %d syncs", f.writes, f.syncs)
	}
}

// Records of 8 sectors go round in a ring that has space for four.
func TestRingNeverOverwritesWhatIsNotReleased(t *testing.T) {
	f := newMemFile(34) // two sectors at the end are of no use
	g, _ := mustOpen(t, f, Home{})
	full := func(want bool) {
		t.Helper()
		_, err := g.Append(rec(1, 8*spaceBytes-200))
		if want && !errors.Is(err, ErrFull) || !want && err != nil {
			t.Fatalf("record %d: %v", g.Last()+1, err)
		}
	}
	for range 4 {
		full(false)
	}
	before := bytes.Clone(f.disk)
	full(true)
	if !bytes.Equal(before, f.disk) || g.Last() != 4 {
		t.Fatal("something was written into a full ring")
	}
	g.Release(1)
	full(false) // at 0
	full(true)
	g.Release(4)
	for range 3 {
		full(false) // behind it
	}
	full(true)
	g.Release(5)
	full(false)
	_, records := mustOpen(t, f, Home{Journaled: 5})
	if d := cmp.Diff(numbers(records), []uint64{6, 7, 8, 9}); d != "" {
		t.Error(d)
	}
}

func TestErrorsOfTheFileAreFinal(t *testing.T) {
	for _, dieAt := range []int{3, 4} { // the second write, or its sync
		f := newMemFile(64)
		g, _ := mustOpen(t, f, Home{})
		mustAppend(t, g, rec(1, 10))
		f.dieAt = dieAt
		_, first := g.Append(rec(2, 10))
		f.dieAt = 0
		changes := f.writes + f.syncs
		if _, again := g.Append(rec(2, 10)); !errors.Is(first, errDead) || again != first ||
			f.writes+f.syncs != changes {
			t.Errorf("%v, then %v", first, again)
		}
	}
}

// damages are what can have happened to a ring whose home has two records, and which holds five.
func TestOpenRefuses(t *testing.T) {
	build := func(n int) *memFile {
		f := newMemFile(64)
		g, _ := mustOpen(t, f, Home{Generation: 1})
		for i := range n {
			r := rec(i+1, 900) // three sectors
			r.Generation = uint64(i / 3)
			mustAppend(t, g, r)
		}
		return f
	}
	sector := func(i int) (from, to int) { return i * SectorBytes, (i + 1) * SectorBytes }
	wipe := func(sectors ...int) func(*memFile) {
		return func(f *memFile) {
			for _, s := range sectors {
				from, to := sector(s)
				clear(f.disk[from:to])
			}
		}
	}
	home := Home{Journaled: 2, Generation: 1}
	perSlot := 2
	seen := Home{Journaled: 2, Generation: 1, Seen: 5}
	for _, r := range []struct {
		name    string
		home    Home
		spoil   func(f *memFile)
		records []uint64 // that are found; nil: refused
		kind    error
		words   string
	}{
		{"nothing", home, nil, []uint64{3, 4, 5}, nil, ""},
		{"all at home", Home{5, 1, 5}, nil, []uint64{}, nil, ""},
		{"the last one incomplete", home, wipe(5*perSlot - 1), []uint64{3, 4}, nil, ""},
		{"the last one without its first sector", home, wipe(4 * perSlot), []uint64{3, 4}, nil, ""},
		{"the last one gone", home, wipe(8, 9), []uint64{3, 4}, nil, ""},
		{"the last one incomplete, which was whole once", seen, wipe(8), nil, ErrDamaged,
			"record 5 has 1 of 2 sectors"},
		{"the last one gone, which was there once", seen, wipe(8, 9), nil, ErrDamaged, "older copy"},
		{"one that is home gone", home, wipe(0, 1), []uint64{3, 4, 5}, nil, ""},
		{"one incomplete", home, wipe(6), nil, ErrDamaged, "record 4 has 1 of 2 sectors"},
		{"one missing", home, wipe(6, 7), nil, ErrDamaged, "record 4 is missing below record 5"},
		{"the first missing", home, wipe(4, 5), nil, ErrDamaged, "record 3 is missing below record 4"},
		{"all zeros", home, func(f *memFile) { clear(f.disk) }, nil, ErrDamaged, "older copy"},
		{"older than its home of a release that noted nothing", Home{6, 1, 0}, nil, nil, ErrDamaged,
			"its last record is number 5"},
		{"older than its home", Home{6, 1, 6}, nil, nil, ErrDamaged, "its last record is number 5"},
		{"newer than its home", Home{2, 0, 2}, nil, nil, ErrHomeOlder, "record 4"},
		{"a flipped bit", home, func(f *memFile) { f.disk[7*SectorBytes+300] ^= 4 }, nil, ErrDamaged,
			"sector 7 fails its checksum"},
		{"a flipped bit in one that is home", home, func(f *memFile) { f.disk[300] ^= 4 }, nil, ErrDamaged, "sector 0"},
		{"a flipped bit where nothing is", home, func(f *memFile) { f.disk[40*SectorBytes+300] ^= 4 }, nil, ErrDamaged,
			"sector 40"},
		{"a sector in another place", home, func(f *memFile) {
			copy(f.disk[20*SectorBytes:],
				f.disk[8*SectorBytes:9*SectorBytes])
		}, nil, ErrDamaged, "sector 20"},
		{"two records in one place", home, func(f *memFile) { copy(f.disk[:1024], f.disk[1024:2048]) }, nil,
			ErrDamaged, "sector 0"},
	} {
		t.Run(r.name, func(t *testing.T) {
			f := build(5)
			if r.spoil != nil {
				r.spoil(f)
			}
			f.put(bytes.Clone(f.disk))
			_, records, err := openAll(f, store, r.home)
			if r.kind != nil {
				if !errors.Is(err, r.kind) || !strings.Contains(err.Error(), r.words) {
					t.Fatalf("%v", err)
				}
				if f.writes > 5 {
					t.Error("it was written all the same")
				}
				return
			}
			if err != nil || fmt.Sprint(numbers(records)) != fmt.Sprint(r.records) {
				t.Fatalf("%v %v", numbers(records), err)
			}
		})
	}
	f := build(5)
	if _, _, err := openAll(f, ident.StoreID{7}, home); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "another store") {
		t.Error(err)
	}
	for _, size := range []int64{0, 512, f.size() + 1, MaxBytes + 512} {
		if _, err := Open(f, size, store, home, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Every bit of a ring, written or not, is guarded.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	f := newMemFile(16)
	g, _ := mustOpen(t, f, Home{})
	for i := range 9 { // more than once round
		mustAppend(t, g, rec(i+1, 10+i*100))
		g.Release(g.Last() - 1)
	}
	home := Home{Journaled: g.Last() - 1}
	bits := len(f.disk) * 8
	step := 1
	if testing.Short() {
		step = 11
	}
	for bit := 0; bit < bits; bit += step {
		f.seen[bit/8] ^= 1 << (bit % 8)
		if _, _, err := openAll(f, store, home); !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
		f.seen[bit/8] ^= 1 << (bit % 8)
	}
	mustOpen(t, f, home)
}

// A process that died and one whose sync failed leave what a reader sees and the disk does not have. Open makes it so.
func TestOpenMakesWhatItReadDurable(t *testing.T) {
	for _, whole := range []bool{true, false} {
		f := newMemFile(64)
		g, _ := mustOpen(t, f, Home{})
		mustAppend(t, g, rec(1, 900))
		f.dieAt = f.writes + f.syncs + 2
		if _, err := g.Append(rec(2, 900)); !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		f.dieAt = 0
		if !whole {
			clear(f.seen[3*SectorBytes : 4*SectorBytes])
		}
		clear(f.dirty) // the error took the mark away: the next sync does nothing for them
		g, records := mustOpen(t, f, Home{})
		if want := map[bool]int{true: 2, false: 1}[whole]; len(records) != want || g.Last() != 2 {
			t.Fatalf("%d records, last %d", len(records), g.Last())
		}
		f.crash(func(int) bool { return false })
		mustOpen(t, f, Home{Journaled: 2})
	}
}

// A number that was cut off is not used again, and its place is.
func TestAfterARecordThatWasCutOff(t *testing.T) {
	f := newMemFile(64)
	g, _ := mustOpen(t, f, Home{})
	mustAppend(t, g, rec(1, 900))
	f.dieAt = f.writes + f.syncs + 1
	g.Append(rec(2, 2000))
	f.crash(func(s int) bool { return s != 3 })
	g, records := mustOpen(t, f, Home{})
	if len(records) != 1 || g.Last() != 2 {
		t.Fatalf("%v, last %d", numbers(records), g.Last())
	}
	g.Release(g.Last())
	mustAppend(t, g, rec(3, 100))
	g, records = mustOpen(t, f, Home{Journaled: 2})
	if len(records) != 1 || records[0].Number != 3 || g.Last() != 3 {
		t.Fatalf("%v, last %d", numbers(records), g.Last())
	}
}

// After any appends, releases and crashes all acknowledged records that were not released are there, in order. Of the
// records that were not acknowledged at most the last one is there, whole.
func TestCrashesKeepWhatWasAcknowledged(t *testing.T) {
	torn, wrapped, replayed := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f := newMemFile(rapid.IntRange(16, 60).Draw(t, "sectors"))
		home := Home{Generation: 1}
		g, _ := mustOpenR(t, f, home)
		model := map[uint64]*Record{}
		slot := 0
		for range rapid.IntRange(1, 8).Draw(t, "lives") {
			die := rapid.IntRange(1, 40).Draw(t, "changes until the crash")
			f.dieAt = f.writes + f.syncs + die
			var lost *Record
			for lost == nil {
				slot++
				r := rec(slot, rapid.IntRange(0, g.Limit()/SectorBytes*spaceBytes-120).Draw(t, "bytes"))
				r.Generation = home.Generation
				head := g.head
				switch _, err := g.Append(r); {
				case errors.Is(err, ErrFull):
					home.Journaled = g.Last()
					home.Generation++
					g.Release(g.Last())
					continue
				case err != nil:
					lost = r
				default:
					model[r.Number] = r
					if g.head < head {
						wrapped++
					}
				}
				if rapid.IntRange(0, 3).Draw(t, "flush") == 0 && g.Last() > home.Journaled {
					home.Journaled += rapid.Uint64Range(1, g.Last()-home.Journaled).Draw(t, "through")
					home.Seen = g.Last()
					home.Generation++
					g.Release(home.Journaled)
				}
			}
			f.crash(func(int) bool { return rapid.Bool().Draw(t, "survives") })
			last := g.Last()
			var records []Record
			g, records = mustOpenR(t, f, home)
			want := last - home.Journaled
			if uint64(len(records)) == want+1 {
				model[last+1], want = lost, want+1
			} else if g.Last() > last {
				torn++
			}
			if uint64(len(records)) != want {
				t.Fatalf("%v after %+v, last %d", numbers(records), home, last)
			}
			for i := range records {
				r := &records[i]
				if r.Number != home.Journaled+1+uint64(i) || !cmp.Equal(r, model[r.Number]) {
					t.Fatalf("record %d is %s", i, cmp.Diff(r, model[r.Number]))
				}
			}
			replayed += len(records)
			home.Seen = max(home.Journaled, rapid.Uint64Range(home.Seen, g.Last()).Draw(t, "seen"))
			if uint64(len(records)) < g.Last()-home.Journaled || rapid.Bool().Draw(t, "all go home") {
				home.Journaled = g.Last() // before any append, if one was cut off
				g.Release(g.Last())
			}
			home.Generation++
		}
	})
	if torn == 0 || wrapped == 0 || replayed == 0 {
		t.Errorf("%d records cut off, %d times round, %d replayed", torn, wrapped, replayed)
	}
}

func mustOpenR(t *rapid.T, f *memFile, home Home) (*Ring, []Record) {
	g, records, err := openAll(f, store, home)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return g, records
}

// An append allocates nothing once its buffers have grown.
func TestAppendAllocatesNothing(t *testing.T) {
	f := newMemFile(1024)
	g, _ := mustOpen(t, f, Home{})
	r := rec(1, 16<<10)
	var err error
	allocs := testing.AllocsPerRun(100, func() {
		g.Release(g.Last())
		_, failed := g.Append(r)
		err = errors.Join(err, failed)
	})
	if err != nil || allocs > 2 { // the test's file makes a list of its sectors
		t.Errorf("%v allocations, %v", allocs, err)
	}
}

// Load gives what was appended, also beside appends, until another record has taken the place.
func TestLoad(t *testing.T) {
	f := newMemFile(64)
	g, _ := mustOpen(t, f, Home{})
	r := rec(1, 5000)
	at, err := g.Append(r)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, g, rec(2, 5000))
	got, err := g.Load(1, at)
	if d := cmp.Diff(&got, r); err != nil || d != "" {
		t.Fatal(err, d)
	}
	f.seen[3*SectorBytes+20] ^= 1
	if _, err := g.Load(1, at); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "sector 3") {
		t.Errorf("a flipped bit: %v", err)
	}
	g.Release(2)
	for range 6 { // round the end
		mustAppend(t, g, rec(3, 5000))
		g.Release(g.Last())
	}
	if _, err := g.Load(1, at); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "not of record 1 any more") {
		t.Errorf("the place of another: %v", err)
	}
}
