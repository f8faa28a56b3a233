package explore

import (
	"fmt"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/server/members"
	"tenure/server/replica"
)

// maxChain bounds the memberships of a world.
const maxChain = 3

// changes is what the log says of the members, with what its master waits for. It is a number in a state.
type changes struct {
	chosen   int // memberships that are chosen
	settled  int
	waiting  bool          // for settled, after the acknowledgements
	left     time.Duration // of that wait, on the master's clock
	restarts int           // of acceptors
	eras     [maxChain]uint32
}

func (g changes) pack() uint32 {
	n := uint32(g.chosen) | uint32(g.settled)<<2 | uint32(g.left/ms)<<5 | uint32(g.restarts)<<10
	if g.waiting {
		n |= 1 << 4
	}
	for i, era := range g.eras {
		n |= era << (13 + 4*i)
	}
	return n
}

func unpackChanges(n uint32) changes {
	g := changes{chosen: int(n & 3), settled: int(n >> 2 & 3), waiting: n>>4&1 != 0, left: time.Duration(n>>5&31) * ms,
		restarts: int(n >> 10 & 7)}
	for i := range g.eras {
		g.eras[i] = n >> (13 + 4*i) & 15
	}
	return g
}

// The master's duties, which are those of package replica, and a node's.

// record returns what the log says, as the master reads it.
func (g *changes) record(chain []quorum.Set) *members.Record {
	r := &members.Record{Settled: uint64(g.settled)}
	r.Membership.Number, r.Membership.Members = uint64(g.chosen), membersOf(chain[g.chosen-1])
	if g.chosen > 1 {
		r.Before = membersOf(chain[g.chosen-2])
	}
	return r
}

// mayPropose is "C(k+1) is proposed only once C(k) is settled".
func (g *changes) mayPropose(chain []quorum.Set) bool {
	return g.chosen < len(chain) && g.record(chain).IsSettled()
}

// asks reports whether the master asks for acknowledgements.
func (g *changes) asks() bool { return !g.waiting && g.settled != g.chosen }

// acknowledge begins the wait after which the newest membership is settled, if the acknowledgements are enough: those
// of acceptors that have it in force, durably.
func (g *changes) acknowledge(chain []quorum.Set, t lease.Timing, acked []replica.Acknowledgement) bool {
	if !g.asks() {
		return false
	}
	wait, ok := replica.SettleWait(t, g.record(chain), acked)
	if !ok {
		return false
	}
	g.waiting, g.left = true, wait
	g.pass(0)
	return true
}

// pass has the master's clock go on.
func (g *changes) pass(d time.Duration) {
	if !g.waiting {
		return
	}
	if g.left -= d; g.left <= 0 {
		g.waiting, g.left, g.settled = false, 0, g.chosen
	}
}

// inForce reports whether a node goes by a membership: only if it is chosen.
func (g *changes) inForce(membership int, _ *quorum.Set) bool { return membership < g.chosen }

func membersOf(voters quorum.Set) (list []ident.Member) {
	for _, id := range voters.IDs() {
		list = append(list, ident.Member{Node: id})
	}
	return list
}

// nodeSet returns the nodes that digits name.
func nodeSet(digits string) (s quorum.Set) {
	for _, d := range digits {
		s.Add(ballot.NodeID(d - '0'))
	}
	return s
}

// highest returns the largest node id in sets.
func highest(sets []quorum.Set) int {
	n := 0
	for _, s := range sets {
		if s.Len() > 0 {
			n = max(n, int(s.At(s.Len()-1)))
		}
	}
	return n
}

func chainText(chain []quorum.Set) string {
	parts := make([]string, len(chain))
	for i, s := range chain {
		parts[i] = s.String()
	}
	return strings.Join(parts, " ")
}

// alikeIn reports whether all memberships have both of two acceptors, counted from 0, or neither.
func alikeIn(chain []quorum.Set, i, j int) bool {
	for _, s := range chain {
		if s.Has(ballot.NodeID(i+1)) != s.Has(ballot.NodeID(j+1)) {
			return false
		}
	}
	return true
}

func (g changes) String() string {
	s := fmt.Sprintf("C%d", g.chosen)
	switch {
	case g.waiting:
		s += fmt.Sprintf(" settles in %v", g.left)
	case g.settled == g.chosen:
		s += " settled"
	}
	return s
}
