package wire

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// JoinMsg asks a member to let a node into its cluster. The same node may ask again, any member, after an answer was
// lost: its Store identifies it.
type JoinMsg struct {
	// Operation is the id of the change that this asks for, which the node draws once and repeats.
	Operation string
	Store     ident.StoreID
	Name      string // "" stands for node-N, where N is the id that it gets
	PeerAddr  string // where it is dialled, as advertised
	// ClientAddr is where clients reach it.
	ClientAddr string
	// Replace is the name of the member whose place it takes, "" if it takes nobody's.
	Replace string
	// NonVoter: it stays one. Spare: it is a non-voter that takes the place of a voter not heard for ReplaceAfter.
	NonVoter, Spare bool
	ReplaceAfter    time.Duration
	// Constants must be those of the cluster.
	Constants Constants
	// Level is the highest feature level that the node knows.
	Level uint64
	// Cluster is the only cluster that the node wants to join: its former one, if it takes its own place again. Zero:
	// any.
	Cluster ident.ClusterID
	// ACL: the node asks its clients for tokens.
	ACL bool
}

// Greeting reports whether m only asks whether a member of a cluster answers. Every release refuses it with
// ReasonConstants, since no cluster has such constants.
func (m *JoinMsg) Greeting() bool { return m.Constants == Constants{} }

// JoinedMsg answers a JoinMsg: the node is a member now, under the id Node. Or it is to ask another node, and everything
// but Ask is zero.
type JoinedMsg struct {
	Node       ballot.NodeID
	Cluster    ident.ClusterID
	Membership ident.Membership // lists Node with its store
	Ask        string           // the peer address of the master
}

// MaxOperationBytes bounds the id of an operation.
const MaxOperationBytes = 128

func (m *JoinMsg) check() error {
	if m.Operation == "" {
		return errors.New("an operation without an id")
	}
	if m.PeerAddr == "" {
		return errors.New("a node without an address")
	}
	if m.ReplaceAfter < 0 {
		return fmt.Errorf("a spare that replaces after %v", m.ReplaceAfter)
	}
	return errors.Join(CheckStore(m.Store), checkName(m.Name), checkName(m.Replace),
		checkShown("operation", m.Operation, MaxOperationBytes), checkAddress("peer address", m.PeerAddr),
		checkAddress("client address", m.ClientAddr))
}

func (m *JoinedMsg) check() error {
	if m.Ask != "" {
		return checkAddress("address of the master", m.Ask)
	}
	if m.Cluster.IsZero() {
		return errors.New("a cluster without an id")
	}
	if _, _, listed := m.Membership.Find(m.Node); !listed {
		return fmt.Errorf("node %d has joined, but is not in the membership", m.Node)
	}
	return errors.Join(CheckNode(m.Node), checkMembership(m.Membership))
}
