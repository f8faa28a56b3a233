package flease

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
)

// Ballot is the paper's k: a time and a process (§3.5). It orders operations; the zero ballot is below every other one.
type Ballot struct {
	Time time.Duration
	Node ballot.NodeID
}

// Less tells whether b is below o: by time, then by process.
func (b Ballot) Less(o Ballot) bool {
	return b.Time < o.Time || b.Time == o.Time && b.Node < o.Node
}

// IsZero tells whether b is no ballot.
func (b Ballot) IsZero() bool { return b == Ballot{} }

// String shows time and process.
func (b Ballot) String() string {
	if b.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%v@%d", b.Time, b.Node)
}

// Lease is the paper's λ = (p, t): owned by Owner while its own clock reads less than Until. The zero Lease is ⊥, none.
type Lease struct {
	Owner ballot.NodeID
	Until time.Duration // a reading of the clock that all loosely share
}

// IsZero tells whether l is ⊥.
func (l Lease) IsZero() bool { return l.Owner == 0 }

// Kind tells what a Message says.
type Kind uint8

// The messages of the register. See Message for which fields each uses.
const (
	KindRead Kind = iota + 1
	KindReadAck
	KindReadNack
	KindWrite
	KindWriteAck
	KindWriteNack
)

var kindNames = [...]string{"none", "READ", "ackREAD", "nackREAD", "WRITE", "ackWRITE", "nackWRITE"}

// String names the kind as the paper does.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// ErrMalformed is wrapped by every error of Message.Check.
var ErrMalformed = errors.New("malformed flease message")

// Message is one message between two processes, or of a process to itself. A reply repeats the ballot that it answers.
//
//	kind       from      also uses
//	READ       proposer
//	ackREAD    acceptor  Written, Lease: what the register holds, and under which ballot it was written
//	nackREAD   acceptor  Seen: the higher ballot
//	WRITE      proposer  Lease
//	ackWRITE   acceptor
//	nackWRITE  acceptor  Seen
type Message struct {
	Kind     Kind
	From, To ballot.NodeID
	Ballot   Ballot
	Lease    Lease
	Written  Ballot
	Seen     Ballot
}

// Check refuses a message that no process of this protocol sends. Acceptor and Proposer drop such messages unseen.
func (m Message) Check() error {
	switch {
	case m.Kind < KindRead || m.Kind > KindWriteNack:
		return fmt.Errorf("%w: %v", ErrMalformed, m.Kind)
	case !isNode(m.From) || !isNode(m.To):
		return fmt.Errorf("%w: from node %d to node %d", ErrMalformed, m.From, m.To)
	case !isNode(m.Ballot.Node) || m.Ballot.Time < 0:
		return fmt.Errorf("%w: ballot %v", ErrMalformed, m.Ballot)
	case m.Kind == KindWrite && m.Lease.IsZero():
		return fmt.Errorf("%w: WRITE of no lease", ErrMalformed)
	case m.Kind == KindReadAck && m.Lease.IsZero() != m.Written.IsZero():
		return fmt.Errorf("%w: ackREAD of lease %v written under %v", ErrMalformed, m.Lease, m.Written)
	case m.Lease.Owner > ballot.MaxNodeID || m.Lease.Until < -maxSpan || m.Lease.Until > 4*maxSpan:
		return fmt.Errorf("%w: lease %v", ErrMalformed, m.Lease)
	}
	return nil
}

// String is one line for traces.
func (m Message) String() string {
	s := fmt.Sprintf("%v %d→%d %v", m.Kind, m.From, m.To, m.Ballot)
	if !m.Lease.IsZero() {
		s += fmt.Sprintf(" owner %d until %v", m.Lease.Owner, m.Lease.Until)
	}
	if !m.Written.IsZero() {
		s += fmt.Sprintf(" written under %v", m.Written)
	}
	if !m.Seen.IsZero() {
		s += fmt.Sprintf(" seen %v", m.Seen)
	}
	return s
}
