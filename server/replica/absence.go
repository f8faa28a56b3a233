package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
)

// Absence is what the cluster would be without this node, for whoever is about to stop it. It is a hint: a node may be
// lost right after.
type Absence struct {
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
func (a *Absence) Harmless() bool { return a.Enough && a.Left == 0 }

// freshFor is for how long the first heartbeats of a voter that has just started need not know how long it is silent.
const freshFor = 3 * heartbeatTicks * TickEvery

// lagOfBehind is how many slots a voter may lack that is about to apply them.
const lagOfBehind = 1 << 12

// absence returns what the cluster would be without this node, which has applied that slot.
func (m *membersView) absence(now time.Duration, applied uint64) Absence {
	if !m.votes() {
		return Absence{Enough: true}
	}
	var a Absence
	var lefts []time.Duration // until each of those answers that have what they need
	heard := 0
	for i := range m.peers {
		p := &m.peers[i]
		if !m.voters.Has(p.node) || !p.told || !p.heardLately(now) {
			continue
		}
		heard++
		if p.applied+lagOfBehind < applied {
			a.Behind = append(a.Behind, p.node)
			continue
		}
		left := max(0, p.silent-max(0, now-p.heard), p.toldFrom+freshFor-now)
		if left > 0 {
			a.Silent = append(a.Silent, p.node)
		}
		lefts = append(lefts, left)
	}
	majority := m.voters.Need()
	a.Enough = heard >= majority
	slices.Sort(lefts)
	switch {
	case !a.Enough:
	case len(lefts) < majority:
		a.Left = unknownLeft
	default:
		a.Left = lefts[majority-1]
	}
	return a
}

// unknownLeft stands for a time that nobody can tell: a voter must catch up first.
const unknownLeft = time.Hour

// Wait returns in how long the absence is harmless, if that is known.
func (a *Absence) Wait() (wait time.Duration, known bool) {
	return a.Left, a.Enough && a.Left < unknownLeft
}
