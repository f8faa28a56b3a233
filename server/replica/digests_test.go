package replica

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// "The one that differs from a majority stops; if only two answer and differ, neither stops." A node compares itself
// with the voters, and counts only if it is one.
func TestWhoDiffers(t *testing.T) {
	const a, b, c = 10, 20, 30
	say := func(sums ...uint64) (said []DigestOf) { // by nodes 2, 3, …; 0: it has told nothing
		for i, s := range sums {
			if s != 0 {
				said = append(said, DigestOf{Node: ballot.NodeID(i + 2), Sum: s})
			}
		}
		return said
	}
	three, five := quorum.Of(1, 2, 3), quorum.Of(1, 2, 3, 4, 5)
	for _, x := range []struct {
		name   string
		voters quorum.Set
		others []DigestOf
		want   finding
	}{
		{"nobody else has told", three, nil, nothing},
		{"all have the same", three, say(a, a), agrees},
		{"one other has the same, the third is silent", three, say(a), agrees},
		{"one other differs, the third is silent", three, say(b), disputed},
		{"both others differ, and agree", three, say(b, b), differs},
		{"one of the others differs", three, say(a, b), agrees},
		{"three of three differ", three, say(b, c), disputed},
		{"a majority of five agrees with this node", five, say(a, a, b, b), agrees},
		{"a majority of five differs", five, say(a, b, b, b), differs},
		{"two against two", five, say(a, b, b), disputed},
		{"two against one", five, say(0, b, b), disputed},
		{"two of five agree, and nobody differs", five, say(a), nothing},
		{"one of two differs", quorum.Of(1, 2), say(b), disputed},
		{"alone", quorum.Of(1), nil, agrees},
		{"no voter, and all voters differ from it", quorum.Of(2, 3, 4), say(b, b, b), differs},
		{"no voter, and a majority of them does", quorum.Of(2, 3, 4), say(b, 0, b), differs},
		{"no voter, and they agree", quorum.Of(2, 3, 4), say(a, a, 0), agrees},
		{"no voter: with one of three voters it makes no majority", quorum.Of(2, 3, 4), say(a), nothing},
		{"no voter: with one of three voters it makes none against another", quorum.Of(2, 3, 4), say(a, b), disputed},
	} {
		if got, _, _ := compareAt(1, a, x.voters, x.others); got != x.want {
			t.Errorf("%s: found %d, want %d", x.name, got, x.want)
		}
	}
}

// Messages about digests name the nodes, their digests, and the remedy.
func TestWhatIsSaidOfDigests(t *testing.T) {
	d := digests{}
	d.add(Digest{Slot: 64, Sum: 1}, true)
	peers := []peerView{{node: 3, digests: []Digest{{64, 2}}}, {node: 2, digests: []Digest{{64, 2}}}}
	err := d.compare(1, quorum.Of(1, 2, 3), peers)
	if err == nil || err.Slot != 64 || err.Own != 1 || err.All != 2 || !slices.Equal(err.Agree, []ballot.NodeID{2, 3}) {
		t.Fatalf("%+v", err)
	}
	for _, part := range []string{"slot 64", "0000000000000001", "nodes [2 3]", "kvnode rejoin", "kvctl member replace"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if d.compare(1, quorum.Of(1, 2, 3), peers[:1]) != nil || d.dispute.Slot != 64 {
		t.Fatalf("with one other: %+v", d.dispute)
	}
	for _, part := range []string{"slot 64", "node 3", "0000000000000002", "nothing is truncated"} {
		if !strings.Contains(d.dispute.String(), part) {
			t.Errorf("%q lacks %q", d.dispute, part)
		}
	}
}

// The newest slot that is decided counts. A dispute ends when a third node agrees, when the other agrees later, or when
// it is no voter any more; not because it is silent.
func TestWhenADisputeEnds(t *testing.T) {
	three := quorum.Of(1, 2, 3)
	dispute := func() *digests {
		d := &digests{}
		d.add(Digest{Slot: 16, Sum: 1}, true)
		d.add(Digest{Slot: 32, Sum: 2}, true)
		peers := []peerView{{node: 2, digests: []Digest{{16, 1}, {32, 9}}}}
		if d.compare(1, three, peers) != nil || d.dispute.Slot != 32 {
			t.Fatalf("no dispute: %+v", d)
		}
		return d
	}
	for _, x := range []struct {
		name   string
		next   Digest // of this node; zero: none
		voters quorum.Set
		two    []Digest
		three  []Digest
		ends   bool
		stops  bool
	}{
		{name: "the other is silent", voters: three},
		{name: "the other says nothing of that slot any more", voters: three, two: []Digest{{40, 7}}},
		{name: "they agree at an older slot", voters: three, two: []Digest{{16, 1}}},
		{name: "a third agrees with this node", voters: three, two: []Digest{{32, 9}}, three: []Digest{{32, 2}}, ends: true},
		{name: "a third agrees with the other", voters: three, two: []Digest{{32, 9}}, three: []Digest{{32, 9}}, stops: true},
		{name: "they agree at a later slot", next: Digest{48, 3}, voters: three, two: []Digest{{32, 9}, {48, 3}}, ends: true},
		{name: "they differ at a later slot", next: Digest{48, 3}, voters: three, two: []Digest{{32, 9}, {48, 4}}},
		{name: "the other is no voter any more", voters: quorum.Of(1, 3, 4), two: []Digest{{32, 9}}, ends: true},
	} {
		d := dispute()
		d.add(x.next, true)
		err := d.compare(1, x.voters, []peerView{{node: 2, digests: x.two}, {node: 3, digests: x.three}})
		if (err != nil) != x.stops || err == nil && (d.dispute.Slot == 0) != x.ends {
			t.Errorf("%s: %v, %+v", x.name, err, d.dispute)
		}
	}
}

// Node 2 has agreed, and its state is changed on its disk. Node 3 has copied it. Both report the wrong digest once node 2 has
// started again, and node 1, which is right, goes on.
func TestACopyDoesNotUndoWhatWasAgreed(t *testing.T) {
	voters := quorum.Of(1, 2, 3)
	said := func(slot, two, three uint64) []peerView {
		return []peerView{{node: 2, digests: []Digest{{slot, two}}}, {node: 3, digests: []Digest{{slot, three}}}}
	}
	d := digests{}
	d.add(Digest{Slot: 64, Sum: 1}, true)
	if err := d.compare(1, voters, said(64, 1, 2)); err != nil || d.dispute.Slot != 0 {
		t.Fatalf("%v, disputes %+v", err, d.dispute)
	}
	if err := d.compare(1, voters, said(64, 2, 2)); err != nil || d.dispute.Slot != 64 || len(d.dispute.Other) != 2 {
		t.Fatalf("%v, disputes %+v", err, d.dispute)
	}
	d.add(Digest{Slot: 128, Sum: 1}, true)
	if err := d.compare(1, voters, said(128, 2, 2)); err == nil {
		t.Fatal("at a slot that was never agreed the majority is believed")
	}
}

// A node reports the newest checkpoint, and some before it that were taken for comparison.
func TestDigestsThatAreTold(t *testing.T) {
	d := digests{}
	d.add(Digest{Slot: 5}, true) // of a store that does not know it
	for _, s := range []uint64{16, 32, 48, 64, 80} {
		d.add(Digest{Slot: s, Sum: s}, true)
		d.add(Digest{Slot: s + 1, Sum: s}, false)
	}
	var slots []uint64
	for _, x := range d.told {
		slots = append(slots, x.Slot)
	}
	if !slices.Equal(slots, []uint64{32, 48, 64, 80, 81}) || len(slots) > MaxDigests {
		t.Errorf("told of slots %v", slots)
	}
}

// Nodes that count at other rates, and begin at other times, take slots in common.
func TestSlotsAreChosenAlike(t *testing.T) {
	const every = 50 // ticks
	for _, perTick := range []struct{ a, b uint64 }{{1, 1}, {7, 7}, {20, 20}, {31, 33}, {100, 90}, {1000, 1000}} {
		a := newCompareSlots(every*TickEvery, 0)
		b := newCompareSlots(every*TickEvery, 12345)
		taken := map[uint64]bool{}
		common, mine := 0, 0
		const ticks = 40 * every
		for tick := uint64(1); tick <= ticks; tick++ {
			for s := (tick-1)*perTick.a + 1; s <= tick*perTick.a; s++ {
				if a.takes(s, tick) {
					taken[s] = true
					mine++
				}
			}
			a.tick(tick * perTick.a)
		}
		at := uint64(0)
		for tick := uint64(17); at < ticks*perTick.a; tick++ { // it starts later, catches up for a moment, and goes on
			n := perTick.b
			if tick < 40 {
				n *= 10
			}
			for range n {
				if at++; b.takes(at, tick) && taken[at] {
					common++
				}
			}
			b.tick(at)
		}
		if mine > 2*ticks/every || common < 5 {
			t.Errorf("%d and %d slots a tick: %d taken in %d times, %d in common", perTick.a, perTick.b, mine, ticks/every,
				common)
		}
		if a.rests() {
			t.Error("it rests while slots are applied")
		}
		for range every + 1 {
			a.tick(ticks * perTick.a)
		}
		if !a.rests() {
			t.Error("it does not rest when nothing is applied")
		}
	}
	if c := newCompareSlots(time.Second, 0); c.takes(16, 1) {
		t.Error("a slot is taken before the rate is known")
	}
}

// A non-voter that differs is its own affair: the voters hear it, and go on without a dispute.
func TestNonVotersDoNotCount(t *testing.T) {
	d := digests{}
	d.add(Digest{Slot: 64, Sum: 1}, true)
	peers := []peerView{{node: 8, digests: []Digest{{64, 2}}}, {node: 9, digests: []Digest{{64, 2}}}}
	if err := d.compare(1, quorum.Of(1, 2, 3), peers); err != nil || d.dispute.Slot != 0 {
		t.Errorf("two non-voters that differ: %v, %+v", err, d.dispute)
	}
}
