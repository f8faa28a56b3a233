package named

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
)

// Texts are kept once each, as long as a record speaks of them, and their numbers are used again.
func TestOwnersAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o owners
		records := make([]uint32, 20)
		texts := make([]string, len(records))
		for range 100 {
			i := rapid.IntRange(0, len(records)-1).Draw(t, "record")
			o.release(records[i])
			texts[i] = rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "text")
			records[i] = o.keep(texts[i])
			if rapid.Bool().Draw(t, "fresh") {
				records[i] |= freshBit
			}
			distinct := map[string]bool{}
			for j := range records {
				if got := o.text(records[j]); got != texts[j] {
					t.Fatalf("record %d: owner %q became %q", j, texts[j], got)
				}
				distinct[texts[j]] = true
			}
			delete(distinct, "")
			if len(o.numbers) != len(distinct) || o.list.n > 5 { // a new text comes before an old one goes
				t.Fatalf("%d texts in %d numbers, %d are spoken of", len(o.numbers), o.list.n, len(distinct))
			}
		}
	})
}

// Incarnations are kept while a record speaks of them; then their numbers are used again.
func TestRunsAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r runs
		records := make([]runID, 10)
		is := make([]ballot.Incarnation, len(records))
		for range 100 {
			i := rapid.IntRange(0, len(records)-1).Draw(t, "record")
			next := ballot.Incarnation{Node: ballot.NodeID(rapid.IntRange(0, 30).Draw(t, "node"))}
			if next.Node == 0 {
				r.swap(&records[i], 0)
			} else {
				r.swap(&records[i], r.id(next))
			}
			is[i] = next
			for j := range records {
				if got := r.at(records[j]); got != is[j] {
					t.Fatalf("record %d: %v became %v", j, is[j], got)
				}
			}
		}
		if len(r.list) > len(records)+1 {
			t.Fatalf("%d numbers for %d records", len(r.list), len(records))
		}
	})
}

// There is a bound on the incarnations that records speak of.
func TestRunsAreBounded(t *testing.T) {
	var r runs
	at := make([]runID, maxRuns)
	for i := range at {
		r.list = append(r.list, run{is: ballot.Incarnation{Node: ballot.NodeID(i + 1)}})
		r.swap(&at[i], runID(i+1))
	}
	if id := r.id(ballot.Incarnation{Node: 1, Nonce: 1}); id != 0 {
		t.Errorf("one more has number %d", id)
	}
	r.swap(&at[7], 0)
	if id := r.id(ballot.Incarnation{Node: 1, Nonce: 1}); id != 8 {
		t.Errorf("the free number is 8, not %d", id)
	}
}

// A full table of incarnations refuses, and changes nothing.
func TestNoSpaceForAnIncarnation(t *testing.T) {
	table := opened(t, testConfig(), at)
	table.runs.list = make([]run, maxRuns)
	for i := range table.runs.list {
		table.runs.list[i] = run{is: ballot.Incarnation{Node: 1, Nonce: uint64(i + 1)}, refs: 1}
	}
	doesFrom(t, table, at, other, prepareOf(1), PrepareRejected)
	doesFrom(t, table, at, other, acceptOf(1, "a", first(1)), AcceptRejected)
}

func TestPagesKeepWhatTheyHold(t *testing.T) {
	var p pages[string]
	for i := range 3*pageLen + 1 {
		*p.at(p.add()) = fmt.Sprint(i)
	}
	c := p.clone()
	*c.at(c.add()) = "more"
	*c.at(0) = "changed"
	if p.n != 3*pageLen+1 || c.n != p.n+1 || *p.at(0) != "0" || *p.at(pageLen) != fmt.Sprint(pageLen) ||
		*c.at(3 * pageLen) != fmt.Sprint(3*pageLen) {
		t.Errorf("%d and %d entries, %q, %q", p.n, c.n, *p.at(0), *c.at(3 * pageLen))
	}
}
