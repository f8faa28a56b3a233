package acceptor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

// While log.db is open, it neither hides an entry nor brings back a replaced one without an error. A promise may depend
// on the answer "there is no entry". All checksums of records hold in each case.
func TestTheLogHidesNoEntryWhileItIsOpen(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, text, older []byte){
		"an element count is lower": func(t *testing.T, text, _ []byte) {
			p := entryLeaf(t, text)
			p.SetCount(p.Count() - 1)
		},
		"a leaf is one of before": func(t *testing.T, text, older []byte) {
			p := entryLeaf(t, text)
			q := entryLeaf(t, older)
			copy(p.Data, q.Data)
			p.SetID(p.ID)
		},
		"the newest meta page is damaged": func(t *testing.T, text, _ []byte) {
			newest, _ := disktest.MetaAt(t, text)
			text[newest+disktest.HeadBytes+16] ^= 1
		},
	} {
		say := map[string]string{"the newest meta page is damaged": "meta page of transaction"}
		if say[name] == "" {
			say[name] = "the entry of slot 2"
		}
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), small)
			fill(t, s, 20, 10)
			must(t, s.Flush())
			older := disktest.ReadFile(t, s.files.LogPath())
			must(t, s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{
				entry(20, 2, "newer"), entry(21, 2, "last")}}}))
			must(t, s.Flush())
			text := disktest.ReadFile(t, s.files.LogPath())
			spoil(t, text, older)
			disktest.OverwriteKeeping(t, s.files.LogPath(), text)
			_, err := s.Entries(1, 100, 1<<30)
			wantError(t, err, disk.ErrDamaged, s.files.LogPath(), say[name])
			wantError(t, s.Commit([]multipaxos.Persist{{Chosen: 1}}), disk.ErrDamaged, s.files.LogPath())
		})
	}
}

// A transaction is not built on the older of two meta pages, which bbolt would take.
func TestTheLogIsNotWrittenFromTheOlderMetaPage(t *testing.T) {
	s := open(t, t.TempDir(), small)
	fill(t, s, 20, 10)
	must(t, s.Flush())
	text := disktest.ReadFile(t, s.files.LogPath())
	newest, _ := disktest.MetaAt(t, text)
	text[newest+disktest.HeadBytes+16] ^= 1
	disktest.OverwriteKeeping(t, s.files.LogPath(), text)
	fill(t, s, 1, 10)
	wantError(t, s.Flush(), disk.ErrDamaged, s.files.LogPath(), "meta page of transaction")
}

// entryLeaf returns the leaf of text that has the last entries.
func entryLeaf(t *testing.T, text []byte) (last disktest.RawPage) {
	t.Helper()
	newest := uint64(0)
	for _, p := range disktest.PagesOf(t, text, disktest.Leaf) {
		key := p.Key(p.Count() - 1)
		if slot, err := decodeSlot(key); err == nil && len(key) == 8 && uint64(slot) >= newest && slot < 1000 {
			newest, last = uint64(slot), p
		}
	}
	if last.Data == nil {
		t.Fatal("no leaf has entries")
	}
	return last
}

// The checksums of slots are those that were set, whatever the order, and a copy that a view has does not change.
func TestSlotSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	want := map[multipaxos.Slot]uint32{}
	s := new(slotSums)
	for round := range 200 {
		before, kept := maps.Clone(want), s
		e := s.edit()
		for range r.IntN(30) {
			slot := multipaxos.Slot(1 + r.IntN(5*sumBlockSlots))
			record := fmt.Appendf(nil, "%08d", r.Uint32())
			if r.IntN(3) == 0 {
				record = nil
			}
			e.set(slot, record)
			delete(want, slot)
			if record != nil {
				want[slot] = recordSum(record)
			}
		}
		s = e.done()
		for _, c := range []struct {
			sums *slotSums
			want map[multipaxos.Slot]uint32
		}{{kept, before}, {s, want}} {
			var all []multipaxos.Slot
			for slot, ok := c.sums.next(0, ^multipaxos.Slot(0)); ok; slot, ok = c.sums.next(slot+1, ^multipaxos.Slot(0)) {
				if c.sums.get(slot) != c.want[slot] {
					t.Fatalf("round %d: slot %d has %x, want %x", round, slot, c.sums.get(slot), c.want[slot])
				}
				all = append(all, slot)
			}
			if !slices.Equal(all, slices.Sorted(maps.Keys(c.want))) {
				t.Fatalf("round %d: %d slots, want %d", round, len(all), len(c.want))
			}
		}
		from := multipaxos.Slot(r.IntN(5 * sumBlockSlots))
		if slot, ok := s.next(from, from+3); ok && (slot < from || slot > from+3) {
			t.Fatalf("round %d: slot %d is not in %d to %d", round, slot, from, from+3)
		}
	}
}
