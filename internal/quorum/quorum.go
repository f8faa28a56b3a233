// Package quorum counts distinct voters. Votes are sets of node ids, never numbers of messages: a network that
// delivers a reply twice must not make one voter two.
package quorum

import (
	"fmt"
	"strings"

	"tenure/internal/ballot"
)

// MaxVoters bounds a membership: beyond seven voters a write waits for more disks than it gains safety.
const MaxVoters = 7

// Set is a set of at most MaxVoters node ids, in rising order. It is a plain value: comparable, copied by
// assignment, and its zero value is empty.
type Set struct {
	n   uint8
	ids [MaxVoters]ballot.NodeID
}

// Of returns the set of these ids. It panics on more than MaxVoters distinct ids: configuration is checked before.
func Of(ids ...ballot.NodeID) Set {
	var s Set
	for _, id := range ids {
		s.Add(id)
	}
	return s
}

// Add puts id into s and reports whether it is new there.
func (s *Set) Add(id ballot.NodeID) bool {
	i := 0
	for i < int(s.n) && s.ids[i] < id {
		i++
	}
	if i < int(s.n) && s.ids[i] == id {
		return false
	}
	if int(s.n) == MaxVoters {
		panic(fmt.Sprintf("quorum: more than %d voters", MaxVoters))
	}
	copy(s.ids[i+1:], s.ids[i:s.n])
	s.ids[i] = id
	s.n++
	return true
}

// Has reports whether id is in s.
func (s Set) Has(id ballot.NodeID) bool {
	for i := range int(s.n) {
		if s.ids[i] == id {
			return true
		}
	}
	return false
}

// In returns the ids of s that are in voters. A set of voters that is kept across a change of members must be reduced
// with In at the change: a set has no space for the voters of several memberships.
func (s Set) In(voters Set) Set {
	var in Set
	for i := range int(s.n) {
		if voters.Has(s.ids[i]) {
			in.Add(s.ids[i])
		}
	}
	return in
}

// Len returns the number of ids in s.
func (s Set) Len() int { return int(s.n) }

// At returns the i-th id of s in rising order, counted from 0.
func (s Set) At(i int) ballot.NodeID { return s.ids[:s.n][i] }

// IDs returns a new slice of the ids of s, in rising order.
func (s Set) IDs() []ballot.NodeID { return append([]ballot.NodeID(nil), s.ids[:s.n]...) }

// Need returns the number of voters that make a quorum of s: more than half.
func (s Set) Need() int { return int(s.n)/2 + 1 }

// Reached reports whether votes hold a quorum of the voters. Votes of others count for nothing. No voters, no quorum.
func Reached(voters, votes Set) bool {
	n := 0
	for i := range int(votes.n) {
		if voters.Has(votes.ids[i]) {
			n++
		}
	}
	return voters.n > 0 && n >= voters.Need()
}

// String shows the ids, as in "{1,2,3}".
func (s Set) String() string {
	parts := make([]string, s.n)
	for i := range parts {
		parts[i] = fmt.Sprint(s.ids[i])
	}
	return "{" + strings.Join(parts, ",") + "}"
}
