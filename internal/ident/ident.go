// Package ident names clusters, stores and memberships: who may take part.
package ident

import (
	"encoding/hex"
	"fmt"

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

// Member is a voter: a node id together with the store that speaks for it.
type Member struct {
	Node  ballot.NodeID
	Store StoreID
}

// Membership lists the voters. Number 1 is the one that bootstrap writes; zero is no membership.
type Membership struct {
	Number  uint64
	Members []Member // by rising node id
}

// Lists reports whether m lists exactly this node with this store: only then may the node take part, in both layers.
func (m Membership) Lists(node ballot.NodeID, store StoreID) bool {
	for _, x := range m.Members {
		if x.Node == node {
			return x.Store == store
		}
	}
	return false
}

// Voters returns the set of node ids of m.
func (m Membership) Voters() quorum.Set {
	var s quorum.Set
	for _, x := range m.Members {
		s.Add(x.Node)
	}
	return s
}

// String shows the number and the members, as in "1 {1:ab12cd34 2:…}".
func (m Membership) String() string {
	s := fmt.Sprintf("%d {", m.Number)
	for i, x := range m.Members {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprintf("%d:%s", x.Node, x.Store.String()[:8])
	}
	return s + "}"
}
