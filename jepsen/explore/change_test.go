package explore

import (
	"context"
	"testing"
	"time"

	"tenure/server/replica"
)

// A change that is lost, and two changes of a cluster of one node, in any order of everything.
func TestExploreChangesShort(t *testing.T) {
	clean(t, "change-lost-lone")
	clean(t, "named-change-lone")
	sound(t, "change-lone", 200_000)
}

// These take too long to be finished in a test.
func TestExploreChangesBounded(t *testing.T) {
	for _, name := range []string{"change-replace", "change-grow", "change-shrink", "change-lone-restart",
		"change-lone-drift", "named-change-lone-long", "named-change-lone-restart",
		"named-change-lone-buckets", "named-change-replace", "named-change-grow", "named-change-shrink"} {
		sound(t, name, 40_000)
	}
}

func TestExploreChangesLong(t *testing.T) {
	if !*longScale {
		t.Skip("minutes: run it with -long, or search further with go run ./jepsen explore")
	}
	for _, name := range []string{"change-lone", "change-lone-drift", "change-replace", "change-lost", "named-change-lone-renewal"} {
		clean(t, name)
	}
}

// The world does what it is for: each membership is one under which somebody owns, and a lease goes on from one to the
// next.
func TestMembersChangeUnderALease(t *testing.T) {
	l := newChangeModel(parse[ChangeConfig](t, "change-lone"))
	if _, out := runModel(context.Background(), l, Limits{MaxStates: 400_000}); out.what != "" {
		t.Fatal(out.what)
	}
	var owned [maxChain]bool
	renewed := false
	for id := uint32(1); id <= l.proposers.n; id++ {
		x := l.proposers.get(id)
		if h, held := x.p.Held(x.now); held && !x.busy {
			owned[x.of] = true
			renewed = renewed || x.draws == 2 && x.of > 0 && h.Number == 1
		}
	}
	if owned != [maxChain]bool{true, true, true} || !renewed {
		t.Errorf("owned under %v, renewed under another membership %v", owned, renewed)
	}
}

// Named leases, too, are held under each membership, and the tokens grow through all of them.
func TestNamedLeasesAreHeldUnderEachMembership(t *testing.T) {
	l := newNamedModel(parse[NamedConfig](t, "named-change-lone"))
	if _, out := runModel(context.Background(), l, Limits{}); out.what != "" {
		t.Fatal(out.what)
	}
	eras := map[uint32]bool{}
	for id := uint32(1); id <= l.pasts.n; id++ {
		h := l.pasts.get(id).names[0]
		eras[h.last.Era()] = true
		if h.earlier > 0 && h.last.Era() == 3 && h.earlier.Era() == 1 {
			eras[99] = true
		}
	}
	for _, era := range []uint32{1, 2, 3, 99} {
		if !eras[era] {
			t.Errorf("nobody holds in era %d, in %v (99: in the third after one in the first)", era, eras)
		}
	}
}

// What a state keeps of the log is not lost on the way.
func TestChangesArePacked(t *testing.T) {
	g := changes{chosen: 3, settled: 2, waiting: true, left: 31 * time.Millisecond, restarts: 7,
		eras: [maxChain]uint32{1, 15, 9}}
	if got := unpackChanges(g.pack()); got != g {
		t.Errorf("%+v became %+v", g, got)
	}
}

// The settled rule: acknowledgements of acceptors that block each majority of the membership before, and of a majority
// of the new one; then the wait.
func TestMembershipsSettle(t *testing.T) {
	from := func(nodes string, excluding time.Duration) (acked []replica.Acknowledgement) {
		for _, n := range nodeSet(nodes).IDs() {
			acked = append(acked, replica.Acknowledgement{Node: n, Excluding: excluding})
		}
		return acked
	}
	c := parse[ChangeConfig](t, "change-replace")
	for acked, want := range map[string]bool{"": false, "1": false, "12": false, "13": false, "124": true, "123": true,
		"14": false, "234": true} {
		g := changes{chosen: 2, settled: 1}
		if got := g.acknowledge(c.Chain, c.timing(), from(acked, 0)); got != want || g.waiting != want ||
			g.mayPropose(c.Chain) {
			t.Errorf("%s acknowledge: %v, %v", acked, got, g)
		}
	}
	g := changes{chosen: 2, settled: 1}
	g.acknowledge(c.Chain, c.timing(), from("123", 3*ms))
	g.pass(2 * ms)
	if g.mayPropose(c.Chain) {
		t.Error("settled within what an acceptor still excludes")
	}
	if g.pass(ms); !g.mayPropose(c.Chain) {
		t.Errorf("not settled: %v", g)
	}
}
