package runner

import (
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/server/replica"
)

// M6: if the log hangs itself the elector lets go, but only while a peer says that it is able.
func TestM6LogThatHangs(t *testing.T) {
	const (
		ticked = 10 * time.Minute
		bound  = 4 * time.Second
	)
	able := replica.Health{Able: true}
	for _, tc := range []struct {
		name   string
		tenure uint64        // of this node
		at     time.Duration // of the log's last tick
		said   heardHealth   // by the peer
		now    time.Duration
		lets   bool
	}{
		{"it ticks", 1, ticked, heardHealth{Health: able, at: ticked + bound - 2}, ticked + bound - 1, false},
		{"it hangs, and nobody is able", 1, ticked, heardHealth{at: ticked + bound}, ticked + bound, false},
		{"it hangs, and the peer said so long ago", 1, ticked, heardHealth{Health: able, at: ticked}, ticked + bound, false},
		{"it has not ticked yet", 1, 0, heardHealth{Health: able, at: ticked + bound}, ticked + bound, false},
		{"it hangs, and the lease is not held", 0, ticked, heardHealth{Health: able, at: ticked + bound}, ticked + bound, false},
		{"it hangs, and a peer is able", 1, ticked, heardHealth{Health: able, at: ticked + bound}, ticked + bound, true},
	} {
		h := NewHealth(testMembers(1, 2), bound)
		h.standing.Store(&replica.Standing{At: tc.at, Able: true})
		h.Hear(tc.said.at, 2, tc.said.Health)
		g := h.hung(tc.now, tc.tenure)
		if (g.Tenure != 0) != tc.lets || h.Standing().Barred != tc.lets {
			t.Errorf("%s: %+v, %+v", tc.name, g, h.Standing())
		}
	}
}

// M6: a non-voter that is able could not be master, so the elector does not let go for it.
func TestM6ANonVoterIsNobodyToLetGoFor(t *testing.T) {
	const bound = 4 * time.Second
	m := ident.Membership{Number: 1, Change: 1, Members: []ident.Member{{Node: 1}, {Node: 2}, {Node: 3}},
		NonVoters: []ident.Member{{Node: 4}}}
	h := NewHealth(NewMembers(1, m, nil), bound)
	h.standing.Store(&replica.Standing{At: time.Minute, Able: true})
	now := time.Minute + bound
	h.Hear(now, 4, replica.Health{Able: true})
	if g := h.hung(now, 7); g.Tenure != 0 || h.Standing().Barred {
		t.Errorf("for a non-voter: %+v, %+v", g, h.Standing())
	}
	h.Hear(now, 3, replica.Health{Able: true})
	if g := h.hung(now, 7); g.Tenure != 7 {
		t.Errorf("for a voter: %+v", g)
	}
}
