package guardian

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/lease"
)

func testPlan(peers ...Peer) Plan {
	return Plan{Cluster: ident.ClusterID{0xcc}, Store: ident.StoreID{0xaa, 1}, Peers: peers,
		Owner: ballot.Incarnation{Restart: 7, Node: 1, Nonce: 99}}
}

func newPage() page { return page{make([]byte, pageBytes)} }

// The writer may die after any store. At any time the page holds only counters of the old or the new set, and every
// counter in both. If there is space for both sets, no old counter goes before all new ones are there.
func TestEveryPrefixOfAnUpdateIsSound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p := newPage()
	var old []uint64
	for round := range 2000 {
		next := drawCounters(random)
		both := slices.DeleteFunc(slices.Clone(old), func(c uint64) bool { return !slices.Contains(next, c) })
		union := append(slices.Clone(old), slices.DeleteFunc(slices.Clone(next), func(c uint64) bool { return slices.Contains(old, c) })...)
		all := false // the new ones are there
		p.update(next, func(i int, c uint64) {
			p.slot(i).Store(c)
			now := p.counters()
			for _, c := range now {
				if !slices.Contains(union, c) {
					t.Fatalf("round %d: %d was never noted", round, c)
				}
			}
			for _, c := range both {
				if !slices.Contains(now, c) {
					t.Fatalf("round %d: %d was lost for a moment", round, c)
				}
			}
			all = all || isSubset(next, now)
			if c == 0 && !all {
				t.Fatalf("round %d: an old one went before the new ones came", round)
			}
		})
		if diff := cmp.Diff(next, p.counters()); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
		old = next
	}
}

func drawCounters(r *rand.Rand) []uint64 {
	n := r.IntN(lease.MaxNotes + 1)
	if r.IntN(3) > 0 {
		n = r.IntN(8)
	}
	var out []uint64
	for len(out) < n {
		if c := 1 + r.Uint64N(2*lease.MaxNotes); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

func isSubset(a, b []uint64) bool {
	return !slices.ContainsFunc(a, func(c uint64) bool { return !slices.Contains(b, c) })
}

func TestPlanIsReadBack(t *testing.T) {
	p := newPage()
	if err := p.begin(new(testPlan(Peer{2, "a:1", "node-2"}, Peer{3, "b:2", ""}))); err != nil {
		t.Fatal(err)
	}
	got, err := p.plan()
	if diff := cmp.Diff(testPlan(Peer{2, "a:1", "node-2"}, Peer{3, "b:2", ""}), got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	if c := p.counters(); len(c) > 0 {
		t.Errorf("noted from the start: %v", c)
	}
	long := testPlan()
	for i := range 6 { // as many and as long as a cluster can have them
		long.Peers = append(long.Peers, Peer{ballot.MaxNodeID - ballot.NodeID(i), strings.Repeat("x", 255), strings.Repeat("n", 64)})
	}
	if err := newPage().begin(&long); err != nil {
		t.Errorf("the longest list does not fit: %v", err)
	}
	long.Peers[0].Addr = strings.Repeat("x", pageBytes)
	if err := newPage().begin(&long); !errors.Is(err, ErrPlan) {
		t.Errorf("a plan that is too long: %v", err)
	}
}

// Peers come and go. Until the new plan is whole the old one holds.
func TestNewestPlanHolds(t *testing.T) {
	p := newPage()
	if err := p.begin(new(testPlan(Peer{2, "a:1", "node-2"}))); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		want := testPlan(Peer{2, "a:1", "node-2"}, Peer{ballot.NodeID(3 + i), fmt.Sprintf("b:%d", i), ""})
		if err := p.follow(&want); err != nil {
			t.Fatal(err)
		}
		if got, err := p.plan(); err != nil || cmp.Diff(want, got) != "" {
			t.Fatal(err, cmp.Diff(want, got))
		}
	}
	before, _ := p.plan()
	long := testPlan(Peer{2, strings.Repeat("x", pageBytes), ""})
	if err := p.follow(&long); !errors.Is(err, ErrPlan) {
		t.Errorf("a plan that is too long: %v", err)
	}
	if got, err := p.plan(); err != nil || cmp.Diff(before, got) != "" {
		t.Error("a plan that is too long has changed the one that holds")
	}
}

func TestPagesThatAreNone(t *testing.T) {
	good := newPage()
	if err := good.begin(new(testPlan(Peer{2, "a:1", "node-2"}))); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(p *page){
		"short":        func(p *page) { p.b = p.b[:100] },
		"magic":        func(p *page) { p.b[0]++ },
		"length":       func(p *page) { p.b[p.at(1)] = 0xff },
		"cut":          func(p *page) { p.b[p.at(1)+1]-- },
		"no owner":     func(p *page) { _ = p.begin(&Plan{Peers: []Peer{{2, "a:1", ""}}}) },
		"crowd":        func(p *page) { crowd := testPlan(make([]Peer, 15)...); _ = p.begin(&crowd) },
		"never begun":  func(p *page) { *p = newPage() },
		"another kind": func(p *page) { copy(p.b[p.at(1)+2:], fmt.Sprintf("%200s", "")) },
	} {
		p := page{slices.Clone(good.b)}
		spoil(&p)
		if got, err := p.plan(); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
