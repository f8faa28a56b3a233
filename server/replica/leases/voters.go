package leases

import (
	"maps"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/server/members"
)

// voters is what a node knows of whether the voters answer.
type voters struct {
	self       ballot.NodeID
	voters     quorum.Set
	unanswered quorum.Set // did not answer in time when they were last asked at once
	// silences is the reading until which other voters keep silent after a restart, as they said; never ranged over.
	silences map[ballot.NodeID]time.Duration
}

// first returns the voters that the attempt with this counter asks at once: a smallest quorum, a different one for each
// attempt, without those that lately did not answer if enough others remain.
func (v *voters) first(counter uint64) quorum.Set {
	var s quorum.Set
	if v.voters.Has(v.self) && !v.unanswered.Has(v.self) {
		s.Add(v.self)
	}
	all := v.voters.Len()
	for _, unanswered := range [...]bool{false, true} {
		for i := 0; i < all && s.Len() < v.voters.Need(); i++ {
			n := v.voters.At((i + int(counter%uint64(all))) % all)
			if v.unanswered.Has(n) == unanswered {
				s.Add(n)
			}
		}
	}
	return s
}

// follow goes over to other voters, and forgets its notes about former ones.
func (v *voters) follow(voters quorum.Set) {
	v.voters, v.unanswered = voters, v.unanswered.In(voters)
	maps.DeleteFunc(v.silences, func(n ballot.NodeID, _ time.Duration) bool { return !voters.Has(n) })
}

// note notes that n did not answer, if it is a voter.
func (v *voters) note(n ballot.NodeID) {
	if v.voters.Has(n) {
		v.unanswered.Add(n)
	}
}

// missed notes those that were asked at once and have not answered in time.
func (v *voters) missed(asked quorum.Set, answered func(ballot.NodeID) bool) {
	for i := range asked.Len() {
		if n := asked.At(i); !answered(n) {
			v.note(n)
		}
	}
}

// heard notes that n answers.
func (v *voters) heard(n ballot.NodeID) {
	if !v.unanswered.Has(n) {
		return
	}
	var s quorum.Set
	for i := range v.unanswered.Len() {
		if m := v.unanswered.At(i); m != n {
			s.Add(m)
		}
	}
	v.unanswered = s
}

// keepsSilent notes that n has said so, until a reading.
func (v *voters) keepsSilent(n ballot.NodeID, until time.Duration) {
	v.silences[n] = until
	v.note(n)
}

// speaks notes that n has answered as an acceptor.
func (v *voters) speaks(n ballot.NodeID) { delete(v.silences, n) }

// silence returns for how long the voters that do not keep silent are no quorum; 0 if they are one, or may be. The own
// acceptor keeps silent for another own. A voter of unknown state counts as one that answers.
func (v *voters) silence(now, own time.Duration) time.Duration {
	var lefts [quorum.MaxVoters]time.Duration
	silent, voters := 0, v.voters.Len()
	for i := range voters {
		n := v.voters.At(i)
		left := v.silences[n] - now
		if n == v.self {
			left = own
		}
		if left > 0 {
			lefts[silent] = left
			silent++
		}
	}
	lack := v.voters.Need() - (voters - silent)
	if lack <= 0 {
		return 0
	}
	slices.Sort(lefts[:silent])
	return lefts[lack-1]
}

// setMembership goes over to m. A number that is not newer changes nothing. Acceptors that have gone over too refuse
// the attempts under way, and these are tried again.
func (l *Part) setMembership(now time.Duration, m members.InForce) {
	if m.Number <= l.table.Membership() {
		return
	}
	l.table.SetMembership(now, m.Number, m.Era)
	l.cfg.Voters = m.Voters
	l.voters.follow(m.Voters)
	l.pauses.placeAmong(l.cfg.Self.Node, m.Voters)
}

// InForce returns the number of the membership under which this node's acceptor of named leases answers, and how long a
// lease accepted under an older one may still be held (see named.Table.OlderExclusion). While those leases are being
// counted, excluding is the longest possible time.
func (l *Part) InForce(now time.Duration) (number uint64, excluding time.Duration) {
	return l.table.Membership(), l.table.OlderExclusion(now)
}
