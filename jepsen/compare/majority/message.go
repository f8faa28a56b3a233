package majority

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
)

// Kind tells what a Message says.
type Kind uint8

// The messages of the vote.
const (
	KindRequest Kind = iota + 1
	KindAccept
	KindReject
)

var kindNames = [...]string{"none", "Request", "Accept", "Reject"}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// ErrMalformed is wrapped by every error of Message.Check.
var ErrMalformed = errors.New("malformed vote message")

// Message is one message between two nodes, or of a node to itself.
type Message struct {
	Kind     Kind
	From, To ballot.NodeID
	Request  ballot.Ballot // a name of the attempt, never used twice; its order means nothing here
	Duration time.Duration // Request: T, on the proposer's clock
}

// Check refuses a message that no node of this protocol sends. Acceptor and Proposer drop such messages unseen.
func (m Message) Check() error {
	switch {
	case m.Kind < KindRequest || m.Kind > KindReject:
		return fmt.Errorf("%w: %v", ErrMalformed, m.Kind)
	case !isNode(m.From) || !isNode(m.To):
		return fmt.Errorf("%w: from node %d to node %d", ErrMalformed, m.From, m.To)
	case m.Request.IsZero():
		return fmt.Errorf("%w: it names no request", ErrMalformed)
	case m.Kind == KindRequest && m.Duration <= 0:
		return fmt.Errorf("%w: Request for %v", ErrMalformed, m.Duration)
	}
	return nil
}

func isNode(n ballot.NodeID) bool { return n >= 1 && n <= ballot.MaxNodeID }

// String is one line for traces.
func (m Message) String() string {
	s := fmt.Sprintf("%v %d→%d %v", m.Kind, m.From, m.To, m.Request)
	if m.Kind == KindRequest {
		s += fmt.Sprintf(" for %v", m.Duration)
	}
	return s
}
