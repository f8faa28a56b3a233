// Package ballot names the processes and the ballots of both Paxos layers.
//
// Values are plain data: comparable with ==, usable as map keys, and safe to copy.
package ballot

import "fmt"

// NodeID is a member's number in its cluster, 1 to MaxNodeID. Zero is no node. The id of a removed member is
// never used again.
type NodeID uint64

// MaxNodeID is the largest node id that a cluster accepts.
const MaxNodeID NodeID = 65535

// Incarnation is one run of one node's process. Restart is written durably before the run says anything to
// anybody; Nonce is drawn at random at boot and keeps two runs apart even if a disk was rolled back between them.
type Incarnation struct {
	Restart uint64
	Node    NodeID
	Nonce   uint64
}

// IsZero reports whether i is no incarnation at all.
func (i Incarnation) IsZero() bool { return i == Incarnation{} }

// String shows node, restart and nonce, as in "2.7:a1b2c3d4".
func (i Incarnation) String() string {
	if i.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d.%d:%08x", i.Node, i.Restart, uint32(i.Nonce))
}

// Ballot orders attempts: (counter, restart, node, nonce), compared in that order. A ballot is never used twice,
// not even across a crash (T4), because its incarnation never is. The zero ballot is below every other one.
type Ballot struct {
	Counter uint64
	Restart uint64
	Node    NodeID
	Nonce   uint64
}

// New returns the ballot with this counter, drawn by incarnation i.
func New(counter uint64, i Incarnation) Ballot {
	return Ballot{Counter: counter, Restart: i.Restart, Node: i.Node, Nonce: i.Nonce}
}

// Incarnation returns the run that drew b.
func (b Ballot) Incarnation() Incarnation {
	return Incarnation{Restart: b.Restart, Node: b.Node, Nonce: b.Nonce}
}

// IsZero reports whether b is no ballot.
func (b Ballot) IsZero() bool { return b == Ballot{} }

// Compare returns -1, 0 or +1 as b is below, equal to or above o.
func (b Ballot) Compare(o Ballot) int {
	switch {
	case b.Counter != o.Counter:
		return order(b.Counter, o.Counter)
	case b.Restart != o.Restart:
		return order(b.Restart, o.Restart)
	case b.Node != o.Node:
		return order(uint64(b.Node), uint64(o.Node))
	case b.Nonce != o.Nonce:
		return order(b.Nonce, o.Nonce)
	}
	return 0
}

// Less reports whether b is below o.
func (b Ballot) Less(o Ballot) bool { return b.Compare(o) < 0 }

// Max returns the higher of b and o.
func (b Ballot) Max(o Ballot) Ballot {
	if b.Less(o) {
		return o
	}
	return b
}

// String shows counter and incarnation, as in "12@2.7:a1b2c3d4"; the zero ballot is "-".
func (b Ballot) String() string {
	if b.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d@%s", b.Counter, b.Incarnation())
}

func order(a, b uint64) int {
	if a < b {
		return -1
	}
	return 1
}
