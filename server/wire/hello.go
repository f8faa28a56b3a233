package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/hostname"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/internal/shown"
)

// Kind tells what a connection is for.
type Kind uint8

// The kinds. The numbers are on the wire: they are never reused.
const (
	KindLease Kind = 1
	KindLog   Kind = 2
	KindNamed Kind = 3 // named leases: users' traffic, before which neither of the others waits
)

// Kinds lists all kinds by rising number.
var Kinds = [...]Kind{KindLease, KindLog, KindNamed}

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

// Hello is what a node says of itself when a connection is made.
type Hello struct {
	Cluster     ident.ClusterID
	Node        ballot.NodeID
	Store       ident.StoreID
	Incarnation ballot.Incarnation
	Constants   Constants
	ClientAddr  string // where clients reach it; shown in the status of others
	Marks       Marks
	// Membership and Change are the Number and Change of the membership that this node goes by.
	Membership, Change uint64
	// Level is the highest feature level that the node knows, and ClusterLevel the cluster's, as it has applied it.
	// Speaks is the newest version of the protocol that it speaks.
	Level, ClusterLevel uint64
	Speaks              uint16
	// RedisAddr is where clients of Redis reach the node; "": they do not.
	RedisAddr string
	// PeerAddr is the address at which other nodes reach the node, from its start options. "": unknown.
	PeerAddr string
}

// Has returns a membership with no members and the Number and Change of the one that h goes by, to be compared.
func (h *Hello) Has() ident.Membership {
	return ident.Membership{Number: max(1, h.Membership), Change: h.Change}
}

// Address is where a member of the static list listens for its peers.
type Address struct {
	Node ballot.NodeID
	Addr string // host:port
}

// MaxAddrBytes bounds a host:port.
const MaxAddrBytes = 255

// CheckNode returns an error unless n is the id of a node.
func CheckNode(n ballot.NodeID) error {
	if n < 1 || n > ballot.MaxNodeID {
		return fmt.Errorf("node id %d is not in 1 to %d", n, ballot.MaxNodeID)
	}
	return nil
}

// CheckStore returns an error if s is the id of no store.
func CheckStore(s ident.StoreID) error {
	if s.IsZero() {
		return errors.New("no store id")
	}
	return nil
}

// CheckList returns an error unless list has as many nodes as a cluster may have, each once, by rising id, and with an
// address that can be shown.
func CheckList(list []Address) error {
	if len(list) == 0 || len(list) > quorum.MaxVoters {
		return fmt.Errorf("a list of %d nodes; a cluster has 1 to %d", len(list), quorum.MaxVoters)
	}
	for i, a := range list {
		if err := CheckNode(a.Node); err != nil {
			return err
		}
		if err := checkAddress("address of a node", a.Addr); err != nil {
			return err
		}
		if i > 0 && list[i-1].Node >= a.Node {
			return fmt.Errorf("node %d is listed twice or out of order", a.Node)
		}
	}
	return nil
}

// checkMembership returns an error unless m is what ident.Membership promises; among others, Voters must not panic.
func checkMembership(m ident.Membership) error {
	if m.Number == 0 || len(m.Members) == 0 || len(m.Members) > quorum.MaxVoters || len(m.NonVoters) > ident.MaxNonVoters {
		return fmt.Errorf("membership %d with %d voters and %d non-voters", m.Number, len(m.Members), len(m.NonVoters))
	}
	all := m.All()
	for i, x := range all {
		if err := checkMember(x); err != nil {
			return err
		}
		if i > 0 && all[i-1].Node == x.Node {
			return fmt.Errorf("node %d is a member twice", x.Node)
		}
	}
	byNode := func(a, b ident.Member) int { return cmp.Compare(a.Node, b.Node) }
	if !slices.IsSortedFunc(m.Members, byNode) || !slices.IsSortedFunc(m.NonVoters, byNode) {
		return errors.New("members out of order")
	}
	return nil
}

func checkMember(x ident.Member) error {
	return errors.Join(CheckNode(x.Node), CheckStore(x.Store), checkName(x.Name),
		checkAddress("peer address", x.PeerAddr), checkAddress("client address", x.ClientAddr))
}

// checkAddress returns an error unless s, which may be empty, is HOST:PORT. Addresses of other nodes stand in lines that
// say what to type, so nothing may be in them that a shell would run.
func checkAddress(what, s string) error {
	if s != "" && (len(s) > MaxAddrBytes || !hostname.ValidAddress(s)) {
		return fmt.Errorf("%s %.20q is longer than %d bytes or not HOST:PORT", what, s, MaxAddrBytes)
	}
	return nil
}

// checkName returns an error unless name, which may be empty, is one that a member can have.
func checkName(name string) error { return checkShown("name", name, ident.MaxNameBytes) }

// checkShown returns an error unless s has at most limit bytes and can be put on a terminal.
func checkShown(what, s string, limit int) error {
	if len(s) > limit || !Printable(s) {
		return fmt.Errorf("%s %.20q is longer than %d bytes or not plain text", what, s, limit)
	}
	return nil
}

// Printable reports whether s is plain ASCII without controls, so that it can be put into a log or on a terminal.
func Printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// plain returns s cut to MaxTextBytes and without what would confuse a terminal.
func plain(s string) string {
	if len(s) > MaxTextBytes {
		s = s[:MaxTextBytes]
	}
	out := []rune(s)
	for i, r := range out {
		if !shown.Plain(string(r)) || r == '\uFFFD' {
			out[i] = '?'
		}
	}
	return string(out)
}
