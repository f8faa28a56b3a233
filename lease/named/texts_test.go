package named

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"tenure/internal/ballot"
	"tenure/lease"
)

// Texts of all lengths come back as they were kept, whatever is kept and released between, and what was released is
// used again.
func TestTexts(t *testing.T) {
	if n := unsafe.Sizeof(cell{}); n != 32 {
		t.Errorf("a cell has %d bytes", n)
	}
	var x texts
	random := rand.New(rand.NewPCG(1, 2))
	kept := map[uint32]string{}
	for round := range 20_000 {
		if len(kept) < 100 && random.IntN(2) == 0 {
			text := strings.Repeat("é", random.IntN(MaxTextBytes/2+1))
			text += fmt.Sprint(round)[:min(MaxTextBytes-len(text), 5, len(fmt.Sprint(round)))]
			if n := x.keep(text); n != 0 {
				kept[n] = text
			} else if text != "" {
				t.Fatalf("%q has number 0", text)
			}
			continue
		}
		for n, text := range kept {
			if got := x.text(n); got != text {
				t.Fatalf("%q came back as %q", text, got)
			}
			if random.IntN(3) == 0 {
				x.release(n)
				delete(kept, n)
			}
		}
	}
	if most := uint32(100 * (MaxTextBytes/cellBytes + 1)); x.cells.n > most {
		t.Errorf("%d cells for at most 100 texts at a time", x.cells.n)
	}
	if c := x.clone(); x.text(0) != "" || c.cells.n != x.cells.n {
		t.Error("the empty text, or the clone")
	}
}

// Walk shows every live lease once, as Live does, in steps of any size, and no other; a dropped record gives its text
// back.
func TestWalk(t *testing.T) {
	now := time.Duration(0)
	table := opened(t, Config{Timing: lease.Timing{MaxMaster: time.Second, MaxUser: time.Minute, DriftPPM: 10_000,
		Margin: 10 * time.Millisecond}, MaxRecords: 100, Linger: time.Second, Width: 100 * time.Millisecond}, now)
	from := ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}
	take := func(i int, d time.Duration) {
		q := Request{Kind: Prepare, Name: Name{byte(i), 1}, Counter: uint64(i + 1)}
		table.Handle(now, from, q)
		q.Kind, q.Acquisition, q.Token, q.Duration = Accept, Acquisition{byte(i), 1}, table.Floor()+Token(i)+1, d
		q.Owner, q.Text = "o", fmt.Sprintf("name/%02d", i)
		if r, ok := table.Handle(now, from, q); !ok || r.Kind != Accepted {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	for i := range 20 {
		take(i, time.Duration(1+i%2)*400*time.Millisecond)
	}
	table.Handle(now, from, Request{Kind: Release, Name: Name{3, 1}, Counter: 99, Acquisition: Acquisition{3, 1}})
	list := func(most int) (names []string) {
		for next := uint32(0); ; {
			next = table.Walk(now, next, most, func(name string, l Lease) {
				var i int
				if _, err := fmt.Sscanf(name, "name/%d", &i); err != nil {
					t.Errorf("%q: %v", name, err)
				}
				if alone, ok := table.Live(now, Name{byte(i), 1}); !ok || l != alone || l.Owner != "o" || l.Left <= 0 ||
					l.Token == 0 {
					t.Errorf("%s: %+v, alone %+v", name, l, alone)
				}
				names = append(names, name)
			})
			if next == 0 {
				slices.Sort(names)
				return names
			}
		}
	}
	for _, most := range []int{1, 7, 20, 1000} {
		if got := list(most); len(got) != 19 || got[0] != "name/00" || slices.Contains(got, "name/03") {
			t.Errorf("in steps of %d: %q", most, got)
		}
	}
	if now = 600 * time.Millisecond; len(list(7)) != 9 {
		t.Errorf("when half of them have ended: %q", list(7))
	}
	for now = time.Minute; table.Sweep(now, 100); {
	}
	cells := table.texts.cells.n
	if got := list(7); len(got) != 0 || table.Records() != 0 {
		t.Errorf("when all have ended: %q, %d records", got, table.Records())
	}
	for i := range 20 {
		take(i+50, time.Second)
	}
	if table.texts.cells.n != cells {
		t.Errorf("%d cells, before %d", table.texts.cells.n, cells)
	}
}
