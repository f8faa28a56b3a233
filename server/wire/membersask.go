package wire

import (
	"time"

	"tenure/internal/ballot"
	"tenure/server/members"
)

// MembersAsk passes on to the master what somebody has asked a node to change of the members, or asks a node whether it
// is drained.
type MembersAsk struct {
	ID     uint64 // drawn by the asking node
	Op     members.Operation
	Cancel string // not empty: take the operation of that id back, instead of Op
	DryRun bool
	Wait   time.Duration // how long the asking node still waits, when it was sent
	// Drain asks for MembersTold.Drain and nothing else. It is sent with DryRun and an Op without a kind, so that a
	// node of an older version answers without a change.
	Drain bool
}

// MembersTold is the master's answer. Without Done nothing was begun, unless Unknown.
type MembersTold struct {
	ID      uint64
	Done    bool
	Unknown bool           // it may have begun: ask again, with the same operation id
	Master  ballot.NodeID  // ask that node instead; 0: none is known
	Reason  members.Reason // why the operation is refused; 0: it is not
	Text    string         // with Reason, or for people
	Record  []byte         // members.Record, if Done
	Plan    members.Plan   // of a dry run
	Drain   DrainState     // of the node that answers, if it was asked
}

// DrainState is whether a node is drained.
type DrainState uint8

// The states of a drain.
const (
	DrainUnknown DrainState = iota // the node is of a version that does not tell
	DrainOff
	DrainBegun // the node looks whether enough voters are left, and may take the drain back
	DrainOn
)

// Drain has a node take no new clients and no mastership, or take them again.
type Drain struct {
	ID    uint64
	Off   bool
	Force bool // though too few voters are left
}

// Drained is its answer.
type Drained struct {
	ID      uint64
	Problem string // "" if it is done
	Loss    bool   // Problem is that too few voters would be left
	Stops   bool   // Problem is that the node is stopping
}

// EncodeMembersAsk returns the body of m.
func EncodeMembersAsk(m *MembersAsk) []byte { return encode(nil, typeMembersAsk, m) }

// EncodeMembersTold returns the body of m.
func EncodeMembersTold(m *MembersTold) []byte { return encode(nil, typeMembersTold, m) }

// EncodeDrain returns the body of d.
func EncodeDrain(d Drain) []byte { return encode(nil, typeDrain, &d) }

// EncodeDrained returns the body of d.
func EncodeDrained(d Drained) []byte { return encode(nil, typeDrained, &d) }
