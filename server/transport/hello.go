package transport

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// Kind tells what a connection is for.
type Kind uint8

// The kinds. Numbers are on the wire: they are never reused.
const (
	KindLease Kind = 1
	KindLog   Kind = 2
	KindNamed Kind = 3 // named leases: users' traffic, before which neither of the others waits
)

// kinds lists all kinds in the order of the peer's table of links.
var kinds = [...]Kind{KindLease, KindLog, KindNamed}

// String names the kind.
func (k Kind) String() string {
	switch k {
	case KindLease:
		return "lease"
	case KindLog:
		return "log"
	case KindNamed:
		return "named"
	}
	return "unknown"
}

// Constants must be the same on all nodes: the lease's exclusion arithmetic (T2, T3) rests on them.
type Constants struct {
	LeaseTime    time.Duration // M of the class of `master`
	MaxLeaseTime time.Duration // M of the class of user leases
	DriftPPM     int64         // ρ in parts per million
	Margin       time.Duration
}

// Marks only grow while a store keeps what it was given. Both must be durable when they are told: a mark that a
// crash could take back would make peers refuse an honest store.
type Marks struct {
	Promised ballot.Ballot // highest promise in the log
	Accepted uint64        // highest slot with an accepted entry
}

// Hello is what a node says of itself when a connection is made.
type Hello struct {
	Cluster     ident.ClusterID
	Node        ballot.NodeID
	Store       ident.StoreID
	Incarnation ballot.Incarnation
	Constants   Constants
	ClientAddr  string // where clients reach it; shown in the status of others
	Marks       Marks
}
