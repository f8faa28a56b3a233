package leases

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/jitter"
	"tenure/internal/quorum"
	"tenure/lease/named"
)

// pauses is how long a node waits before it tries, so that nodes seldom duel.
type pauses struct {
	place, voters int // of this node among the voters
	random        jitter.Source
}

func newPauses(self ballot.NodeID, voters quorum.Set, seed uint64) pauses {
	p := pauses{random: jitter.New(seed)}
	p.placeAmong(self, voters)
	return p
}

// placeAmong takes this node's place among the voters; the first one's if it is none of them.
func (p *pauses) placeAmong(self ballot.NodeID, voters quorum.Set) {
	p.place, p.voters = 0, voters.Len()
	for i := range p.voters {
		if voters.At(i) == self {
			p.place = i
		}
	}
}

// rank is the wait before a try for a name that has just become free: the nodes come in an order that depends on the
// name, at a distance.
func (p *pauses) rank(n named.Name) time.Duration {
	place := (p.place + int(n[15])) % p.voters
	return time.Duration(place)*rankStep + p.random.Below(rankStep/4)
}

// backoff is P5's random wait after the tries-th attempt.
func (p *pauses) backoff(tries int) time.Duration {
	most := backoffFirst << min(tries-1, 10)
	return backoffFirst/2 + p.random.Below(min(most, backoffMost))
}
