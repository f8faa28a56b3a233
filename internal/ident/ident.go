// Package ident names clusters, stores and memberships: who may take part.
package ident

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// ClusterID is drawn at random, once, at bootstrap. Zero is no cluster.
type ClusterID [16]byte

// StoreID is drawn at random when an empty data directory is first opened, so that a wiped node is never taken for
// the one it was. Zero is no store.
type StoreID [16]byte

// String returns the id in hexadecimal.
func (c ClusterID) String() string { return hex.EncodeToString(c[:]) }

// IsZero reports whether c names no cluster.
func (c ClusterID) IsZero() bool { return c == ClusterID{} }

// String returns the id in hexadecimal.
func (s StoreID) String() string { return hex.EncodeToString(s[:]) }

// IsZero reports whether s names no store.
func (s StoreID) IsZero() bool { return s == StoreID{} }

// Member is a node id together with the store that speaks for it.
type Member struct {
	Node  ballot.NodeID
	Store StoreID
	// What follows is for finding the node and for people. It decides nothing.
	Name       string // "" stands for node-N
	PeerAddr   string // host:port as advertised; "" if only --cluster gives it
	ClientAddr string
}

// Bounds of a membership besides quorum.MaxVoters: one with all of them full still fits into a message of the handshake.
const (
	MaxNonVoters = 16
	MaxNameBytes = 64
)

// Membership lists the voters, and the non-voters that follow the log. Number 1 is the one that bootstrap writes; zero
// is no membership.
type Membership struct {
	Number  uint64   // the stamp of lease messages: rises by one with each change of the voters, and with no other
	Members []Member // the voters, by rising node id
	// Change rises with every change of the membership, of a non-voter or an address too. It is 0 at bootstrap.
	Change    uint64
	NonVoters []Member // by rising node id; none is among Members
	Era       uint32   // of named leases, allotted with this Number (N3); 0 at bootstrap, which needs none
}

// Newer reports whether m came after o.
func (m Membership) Newer(o Membership) bool {
	return m.Number > o.Number || m.Number == o.Number && m.Change > o.Change
}

// Lists reports whether m lists exactly this node with this store, as a voter or a non-voter: only then may the node
// take part, in both layers.
func (m Membership) Lists(node ballot.NodeID, store StoreID) bool {
	x, _, ok := m.Find(node)
	return ok && x.Store == store
}

// Find returns the member of that id, and whether it is a voter.
func (m Membership) Find(node ballot.NodeID) (member Member, voter, ok bool) {
	for _, x := range m.Members {
		if x.Node == node {
			return x, true, true
		}
	}
	for _, x := range m.NonVoters {
		if x.Node == node {
			return x, false, true
		}
	}
	return Member{}, false, false
}

// All returns the voters and the non-voters, newly made, by rising id.
func (m Membership) All() []Member {
	all := slices.Concat(m.Members, m.NonVoters)
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// Voters returns the set of node ids of m.
func (m Membership) Voters() quorum.Set {
	var s quorum.Set
	for _, x := range m.Members {
		s.Add(x.Node)
	}
	return s
}

// Clone returns m with lists of its own.
func (m Membership) Clone() Membership {
	m.Members = append([]Member(nil), m.Members...)
	m.NonVoters = append([]Member(nil), m.NonVoters...)
	return m
}

// String shows the number and the members, non-voters behind a plus, as in "1 {1:ab12cd34 2:… +4:…}".
func (m Membership) String() string {
	var parts []string
	for _, x := range m.Members {
		parts = append(parts, fmt.Sprintf("%d:%s", x.Node, x.Store.String()[:8]))
	}
	for _, x := range m.NonVoters {
		parts = append(parts, fmt.Sprintf("+%d:%s", x.Node, x.Store.String()[:8]))
	}
	return fmt.Sprintf("%d {%s}", m.Number, strings.Join(parts, " "))
}

// Plain reports whether s is at most limit characters of ASCII, without spaces and controls: a name or an address that
// every node can show and pass on.
func Plain(s string, limit int) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) <= limit
}

// Roster is what the members' record says of who takes part, and of who must not come back by itself.
type Roster struct {
	Membership Membership
	// NextNode is the id that the next member gets. Ids are never used again, so that one below it which the membership
	// does not list is nobody's for good. 0: not known.
	NextNode ballot.NodeID
	Removed  []string // names of members that were removed
}
