package lease

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
)

// Kind tells what a Message says.
type Kind uint8

// The messages of the lease. See Message for which fields each uses.
const (
	KindPrepare Kind = iota + 1
	KindPromise
	KindPrepareRejected
	KindAccept
	KindAccepted
	KindAcceptRejected
	KindRelease
)

var kindNames = [...]string{"none", "Prepare", "Promise", "PrepareRejected", "Accept", "Accepted", "AcceptRejected",
	"Release"}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// The lease that each message names: there is one, but Message has space on the wire for others.
const (
	MasterResource = "master"
	ClassMaster    = 1
)

// MaxCounter bounds the counters of ballots that are listened to, so that a proposer can always count further.
const MaxCounter = 1 << 62

// ErrMalformed is wrapped by every error of Message.Check.
var ErrMalformed = errors.New("malformed lease message")

// Message is one message of the lease between two nodes, or of a node to itself. It is what travels in the frames of
// the lease connection, so fields are only ever added, at the end. All kinds use From, To and Ballot, which a reply
// repeats; all have the Resource MasterResource and the Class ClassMaster.
//
//	kind             from      also uses
//	Prepare          proposer  Membership
//	Promise          acceptor  Live… (the live lease that the acceptor holds)
//	PrepareRejected  acceptor  Promised, Live…, Membership
//	Accept           proposer  Owner, Duration (D_P), Membership
//	Accepted         acceptor
//	AcceptRejected   acceptor  Promised, Live…, Membership
//	Release          proposer  Owner
//
// A Release has no stamp: it is about a record, whatever the membership that made it (P7: its guardian knows of none).
// It is also the hint to the receiving node's own proposer that it may try.
type Message struct {
	Kind       Kind
	From, To   ballot.NodeID
	Resource   string
	Class      uint8
	Ballot     ballot.Ballot
	Owner      ballot.Incarnation
	Duration   time.Duration
	Promised   ballot.Ballot
	Live       bool
	LiveOwner  ballot.Incarnation
	LiveBallot ballot.Ballot
	LiveLeft   time.Duration // on the acceptor's clock, when it answered: a hint (L1)
	// Membership is the stamp of a Prepare and an Accept: the number of the proposer's membership. In a rejection it is
	// the number that the acceptor has in force. 0 counts as 1.
	Membership uint64
}

// Check refuses a message that no node of this protocol sends. Acceptor and Proposer drop such messages unseen; the
// error is for callers that count them.
func (m Message) Check() error {
	switch {
	case m.Kind < KindPrepare || m.Kind > KindRelease:
		return fmt.Errorf("%w: %v", ErrMalformed, m.Kind)
	case !isNode(m.From) || !isNode(m.To):
		return fmt.Errorf("%w: from node %d to node %d", ErrMalformed, m.From, m.To)
	case m.Resource != MasterResource || m.Class != ClassMaster:
		return fmt.Errorf("%w: resource %.100q in class %d, not %q", ErrMalformed, m.Resource, m.Class, MasterResource)
	case m.Ballot.Counter == 0 || m.Ballot.Counter >= MaxCounter || m.Promised.Counter >= MaxCounter:
		return fmt.Errorf("%w: ballot %v, promised %v", ErrMalformed, m.Ballot, m.Promised)
	case m.Live && (m.LiveOwner.IsZero() || m.LiveBallot.IsZero()):
		return fmt.Errorf("%w: a live lease without owner or ballot", ErrMalformed)
	case (m.Kind == KindAccept || m.Kind == KindRelease) && m.Owner.IsZero():
		return fmt.Errorf("%w: %v without owner", ErrMalformed, m.Kind)
	case m.Kind == KindRelease && m.Owner.Node != m.From:
		return fmt.Errorf("%w: %v of node %d for owner %v", ErrMalformed, m.Kind, m.From, m.Owner)
	case m.Kind == KindAccept && m.Duration <= 0:
		return fmt.Errorf("%w: Accept for %v", ErrMalformed, m.Duration)
	}
	return nil
}

func isNode(n ballot.NodeID) bool { return n >= 1 && n <= ballot.MaxNodeID }

// String is one line for traces.
func (m Message) String() string {
	s := fmt.Sprintf("%v %d→%d %s %v", m.Kind, m.From, m.To, m.Resource, m.Ballot)
	switch m.Kind {
	case KindAccept:
		s += fmt.Sprintf(" owner %v for %v", m.Owner, m.Duration)
	case KindRelease:
		s += fmt.Sprintf(" owner %v", m.Owner)
	case KindPrepareRejected, KindAcceptRejected:
		s += fmt.Sprintf(" promised %v", m.Promised)
	}
	if m.Membership > 1 {
		s += fmt.Sprintf(" membership %d", m.Membership)
	}
	if m.Live {
		s += fmt.Sprintf(" live %v by %v, %v left", m.LiveBallot, m.LiveOwner, m.LiveLeft)
	}
	return s
}
