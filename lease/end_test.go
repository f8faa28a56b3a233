package lease

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
)

// Of several leases in the way the one that ends first counts: then is the time to try again. A refusal that shows no
// higher promise is no reason to try at once.
func TestEndsTellWhatIsInTheWay(t *testing.T) {
	own := ballot.New(5, ballot.Incarnation{Node: p})
	blocked := func(left time.Duration) Message {
		return Message{Ballot: own, Promised: own, Live: true, LiveBallot: ballot.New(3, ballot.Incarnation{Node: q}),
			LiveLeft: left}
	}
	for name, ms := range map[string][]Message{"falling": {blocked(7), blocked(3)}, "rising": {blocked(3), blocked(7)}} {
		var e End
		for _, m := range ms {
			e.add(m, 1)
		}
		if e.Blocker.Left != 3 || e.Reason != EndBlocked || !e.Promised.IsZero() {
			t.Errorf("%s: %+v", name, e)
		}
	}
	var e End
	higher := ballot.New(9, ballot.Incarnation{Node: q})
	e.add(Message{Ballot: own, Promised: higher}, 1)
	e.add(blocked(3), 1)
	if e.Reason != EndRejected || e.Promised != higher {
		t.Errorf("a higher promise and a lease: %+v", e)
	}
}

// P6 names the lease held and the newest of what failed after it.
func TestP6NamesTheHeldAndTheNewest(t *testing.T) {
	var l ballots
	for c := range uint64(maxUnreleased + 4) {
		l.add(ballot.Ballot{Counter: c + 1})
	}
	var got []uint64
	for _, b := range l.list[:l.n] {
		got = append(got, b.Counter)
	}
	if want := []uint64{1, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// P1: an attempt for longer than the class allows never begins: acceptors' quarantines count on that.
func TestP1RefusesTooLongLeases(t *testing.T) {
	for _, d := range []time.Duration{0, -ms, tiny.MaxMaster + 1} {
		func() {
			w := newWorld(t)
			defer func() {
				if recover() == nil {
					t.Errorf("an attempt for %v began", d)
				}
			}()
			w.proposers[p].StartFor(w.now, d)
		}()
	}
}

// P7: an Accept that no acceptor takes is not noted, those behind it are.
func TestP7NotesWhatComesBehindABadAccept(t *testing.T) {
	accept := func(c uint64, d time.Duration) Message {
		return Message{Kind: KindAccept, Resource: MasterResource, Ballot: ballot.Ballot{Counter: c}, Duration: d}
	}
	var n Notes
	n.Sent(0, tiny, []Message{accept(1, -ms), accept(2, ms)})
	if got := n.AppendCounters(nil, 0); !slices.Equal(got, []uint64{2}) {
		t.Errorf("noted %v", got)
	}
}
