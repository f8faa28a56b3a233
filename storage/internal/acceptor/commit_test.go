package acceptor

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

func TestCommitIsReadBackAfterAReopen(t *testing.T) {
	s := open(t, t.TempDir(), small)
	must(t, s.Commit(nil))
	must(t, s.Commit([]multipaxos.Persist{
		{Seq: 1, Promised: bal(5), Entries: []multipaxos.Entry{entry(1, 5, "one"), entry(2, 5, ""),
			entry(4, 5, strings.Repeat("x", 100_000))}},
		{Seq: 2, Entries: []multipaxos.Entry{entry(2, 6, "two")}, Chosen: 1},
		{Seq: 3, Promised: bal(6), Chosen: 2},
	}))
	for range 2 {
		if d := s.Durable(); d != (multipaxos.Durable{Promised: bal(6), Chosen: 2, Last: 4}) {
			t.Fatalf("%+v", d)
		}
		got, err := s.Entries(0, 99, 1<<30)
		must(t, err)
		if len(got) != 3 || string(got[0].Value) != "one" || string(got[1].Value) != "two" ||
			got[1].Ballot != bal(6) || got[2].Slot != 4 || len(got[2].Value) != 100_000 {
			t.Fatalf("%d entries, %v", len(got), slots(got))
		}
		s = reopen(t, s)
	}
}

func TestEntriesPagesAndBounds(t *testing.T) {
	s := open(t, t.TempDir(), small)
	fill(t, s, 20, 10)
	truncate(t, s, 5)
	for _, r := range []struct {
		from, through int
		maxBytes      int
		first, last   int // 0: none
	}{
		{0, 100, 1 << 20, 6, 20},
		{1, 5, 1 << 20, 0, 0},
		{6, 6, 0, 6, 6},
		{7, 20, 0, 7, 7},
		{7, 20, 10, 7, 7},
		{7, 20, 11, 7, 8},
		{18, 20, 1 << 20, 18, 20},
		{21, 30, 1 << 20, 0, 0},
		{9, 8, 1 << 20, 0, 0},
	} {
		got, err := s.Entries(multipaxos.Slot(r.from), multipaxos.Slot(r.through), r.maxBytes)
		must(t, err)
		if r.first == 0 {
			if len(got) != 0 {
				t.Errorf("%+v: %v", r, slots(got))
			}
			continue
		}
		if len(got) != r.last-r.first+1 || int(got[0].Slot) != r.first {
			t.Errorf("%+v: %v", r, slots(got))
		}
	}
}

func TestMarksNeverGoBack(t *testing.T) {
	s := open(t, t.TempDir(), small)
	must(t, s.Commit([]multipaxos.Persist{{Promised: bal(5),
		Entries: []multipaxos.Entry{entry(1, 5, ""), entry(2, 5, "")}, Chosen: 2}}))
	s.checkpointed = 1
	must(t, s.Commit([]multipaxos.Persist{{Truncate: 1}}))
	before := mustContent(t, s)
	wantPanic(t, "promised ballot", func() { s.Commit([]multipaxos.Persist{{Promised: bal(4)}}) })
	wantPanic(t, "chosen mark", func() { s.Commit([]multipaxos.Persist{{Chosen: 1}}) })
	wantPanic(t, "durable through 1", func() { s.Commit([]multipaxos.Persist{{Truncate: 2}}) })
	wantPanic(t, "truncated through 1", func() {
		s.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{entry(1, 9,
			"")}}})
	})
	must(t, s.Commit([]multipaxos.Persist{{Truncate: 1, Chosen: 2, Promised: bal(5)}}))
	if got := mustContent(t, s); got != before {
		t.Errorf("%s\nbecame\n%s", before, got)
	}
}

// Truncation drops entries at once for readers, from the file a bounded number at a time, and its pages are used again.
func TestTruncationBoundsTheFile(t *testing.T) {
	s := open(t, t.TempDir(), Options{InitialBytes: 64 << 10, GrowBytes: 64 << 10})
	fill(t, s, 1000, 200)
	must(t, s.Flush())
	truncate(t, s, 990)
	if got, err := s.Entries(0, 2000, 1<<30); err != nil || len(got) != 10 {
		t.Fatalf("%v %v", slots(got), err)
	}
	must(t, s.Flush())
	if left := s.logged.Load().Entries.Count; left != 1000-trimEntries {
		t.Errorf("%d entries are left in the file after one flush", left)
	}
	s = reopen(t, s) // half deleted is no damage
	for range 4 {
		must(t, s.Commit([]multipaxos.Persist{{Promised: bal(1)}}))
		must(t, s.Flush())
	}
	if left := s.logged.Load().Entries.Count; left != 10 {
		t.Errorf("%d entries are left in the file", left)
	}
	var size int64
	for i := range 30 {
		fill(t, s, 200, 200)
		truncate(t, s, s.Durable().Last-50)
		must(t, s.Flush())
		u, err := s.usage()
		must(t, err)
		if i == 9 {
			size = u.LogBytes
		}
		if i > 9 && u.LogBytes > 2*size {
			t.Fatalf("round %d: the log holds %d bytes, in round 9 it held %d", i, u.LogBytes, size)
		}
	}
	u, err := s.usage()
	must(t, err)
	if u.LogFileBytes > 4<<20 {
		t.Errorf("the file has grown to %d bytes", u.LogFileBytes)
	}
}

// The file is extended before a commit needs it.
func TestLogGrowsAheadOfItsEnd(t *testing.T) {
	s := open(t, t.TempDir(), Options{InitialBytes: 64 << 10, GrowBytes: 1 << 20})
	fill(t, s, 200, 400)
	must(t, s.Flush())
	for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		u, err := s.usage()
		must(t, err)
		if u.LogFileBytes >= 1<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", u)
		}
	}
	fill(t, s, 200, 400)
	reopen(t, s)
}

// After any commits, in any grouping, the store holds the same as a map.
func TestLogIsAMap(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	test := t
	model := map[multipaxos.Slot]multipaxos.Entry{}
	steps := 0
	rapid.Check(t, func(t *rapid.T) {
		s.checkpointed = s.Durable().Last
		d := s.Durable()
		var ps []multipaxos.Persist
		for range rapid.IntRange(1, 3).Draw(t, "persists") {
			p := multipaxos.Persist{}
			for range rapid.IntRange(0, 4).Draw(t, "entries") {
				e := multipaxos.Entry{
					Slot:   d.Truncated + multipaxos.Slot(rapid.IntRange(1, 12).Draw(t, "slot")),
					Ballot: ballot.Ballot{Counter: rapid.Uint64Range(0, 9).Draw(t, "ballot")},
					Value:  rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value"),
				}
				model[e.Slot] = e
				p.Entries = append(p.Entries, e)
				d.Last = max(d.Last, e.Slot)
			}
			if rapid.IntRange(0, 3).Draw(t, "truncate") == 0 {
				p.Truncate = min(d.Truncated+multipaxos.Slot(rapid.IntRange(0, 5).Draw(t, "by")), s.checkpointed)
				d.Truncated = p.Truncate
				d.Chosen, d.Last = max(d.Chosen, d.Truncated), max(d.Last, d.Truncated)
			}
			ps = append(ps, p)
		}
		if err := s.Commit(ps); err != nil {
			t.Fatal(err)
		}
		switch rapid.IntRange(0, 9).Draw(t, "then") {
		case 0, 1, 2:
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		case 3, 4:
			die(test, s)
			s = open(test, dir, small)
		case 5, 6:
			if err := s.moveSome(rapid.Int64Range(0, 4000).Draw(t, "bytes")); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.Durable(); got != d {
			t.Fatalf("%+v, want %+v", got, d)
		}
		got, err := s.Entries(0, ^multipaxos.Slot(0), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for slot := range model {
			if slot > d.Truncated {
				want++
			} else {
				delete(model, slot)
			}
		}
		if len(got) != want {
			t.Fatalf("%v, want %d entries", slots(got), want)
		}
		for _, e := range got {
			if w := model[e.Slot]; string(w.Value) != string(e.Value) || w.Ballot != e.Ballot {
				t.Fatalf("slot %d: %v, want %v", e.Slot, e, w)
			}
		}
		steps++
	})
	reopen(t, s)
}

func BenchmarkEntries(b *testing.B) {
	s := open(b, b.TempDir(), small)
	fill(b, s, 1000, 256)
	b.ReportAllocs()
	for b.Loop() {
		if got, err := s.Entries(1, 1000, 1<<30); err != nil || len(got) != 1000 {
			b.Fatal(len(got), err)
		}
	}
}

// Entries from before a restart are deleted like all others once they are truncated.
func TestTruncationAfterAReopen(t *testing.T) {
	s := open(t, t.TempDir(), calm)
	fill(t, s, 1, 1)
	s = reopen(t, s)
	s.checkpointed = 1
	must(t, s.Commit([]multipaxos.Persist{{Truncate: 1}}))
	must(t, s.Flush())
	if n := s.logged.Load().Entries.Count; n != 0 {
		t.Errorf("%d entries are left on disk", n)
	}
}
