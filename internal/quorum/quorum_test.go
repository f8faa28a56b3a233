package quorum

import (
	"testing"

	"tenure/internal/ballot"
)

func TestReachedCountsDistinctVoters(t *testing.T) {
	voters := Of(3, 1, 2)
	for _, c := range []struct {
		votes []ballot.NodeID
		want  bool
	}{
		{nil, false},
		{[]ballot.NodeID{1}, false},
		{[]ballot.NodeID{1, 1, 1}, false},
		{[]ballot.NodeID{1, 9}, false},
		{[]ballot.NodeID{3, 1}, true},
		{[]ballot.NodeID{1, 2, 3}, true},
	} {
		if got := Reached(voters, Of(c.votes...)); got != c.want {
			t.Errorf("votes %v of %v: %v", c.votes, voters, got)
		}
	}
	if Reached(Set{}, Set{}) {
		t.Error("no voters gave a quorum")
	}
}

func TestAnyTwoQuorumsMeet(t *testing.T) {
	for n := 1; n <= MaxVoters; n++ {
		var voters Set
		for i := range n {
			voters.Add(ballot.NodeID(i + 1))
		}
		if 2*voters.Need() <= n {
			t.Errorf("%d voters: two quorums of %d need not meet", n, voters.Need())
		}
	}
}

func TestSetOrderAndMembership(t *testing.T) {
	s := Of(5, 1, 3)
	if s.String() != "{1,3,5}" || !s.Has(3) || s.Has(2) || s.Add(5) || s.Len() != 3 || s.At(2) != 5 {
		t.Fatalf("set %v", s)
	}
	if s != Of(3, 5, 1) {
		t.Fatal("equal sets differ")
	}
}
