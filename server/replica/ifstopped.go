package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
)

// IfStopped is what the cluster would be if this node were stopped: api.Absence. It is a hint: another node may be lost
// right after.
type IfStopped struct {
	// Enough: without this node a majority of the voters is heard.
	Enough bool
	// Behind are the voters that are heard and lack so much that they could not vote for new slots soon.
	Behind []ballot.NodeID
	// Silent are the voters that are heard and whose acceptors of the master lease do not answer yet (A4), and Left is how
	// long it takes until those of a majority do, without this node.
	Silent []ballot.NodeID
	Left   time.Duration
}

// Harmless reports whether the others could elect a master and go on, at once.
func (s *IfStopped) Harmless() bool { return s.Enough && s.Left == 0 }

// freshFor is for how long after its start a voter may not know yet how long it is silent: its heartbeats then say 0.
const freshFor = 3 * heartbeatTicks * TickEvery

// lagOfBehind is how many slots a voter may lack that is about to apply them.
const lagOfBehind = 1 << 12

// ifStopped returns what the cluster would be if this node, which has applied that slot, were stopped.
func (m *membersView) ifStopped(now time.Duration, applied uint64) IfStopped {
	if !m.votes() {
		return IfStopped{Enough: true}
	}
	var s IfStopped
	var lefts []time.Duration // until each of those answers that have what they need
	heard := 0
	for i := range m.peers {
		p := &m.peers[i]
		if !m.voters.Has(p.node) || !p.told || !p.heardLately(now) {
			continue
		}
		heard++
		if p.applied+lagOfBehind < applied {
			s.Behind = append(s.Behind, p.node)
			continue
		}
		left := max(0, p.silent-max(0, now-p.heard), p.toldFrom+freshFor-now)
		if left > 0 {
			s.Silent = append(s.Silent, p.node)
		}
		lefts = append(lefts, left)
	}
	majority := m.voters.Need()
	s.Enough = heard >= majority
	slices.Sort(lefts)
	switch {
	case !s.Enough:
	case len(lefts) < majority:
		s.Left = unknownLeft
	default:
		s.Left = lefts[majority-1]
	}
	return s
}

// unknownLeft stands for a time that nobody can tell: a voter must catch up first.
const unknownLeft = time.Hour

// HarmlessIn returns in how long it will be harmless to stop this node, if that is known.
func (s *IfStopped) HarmlessIn() (left time.Duration, known bool) {
	return s.Left, s.Enough && s.Left < unknownLeft
}
