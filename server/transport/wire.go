package transport

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// Version is the version of the protocol between nodes, and of the commands in the log, which all nodes must apply alike. Nodes
// of different versions refuse each other; what only adds fields or message types that may be ignored keeps the version.
const Version uint16 = 4

// A message of the handshake is the body of one frame:
//
//	offset  bytes  content
//	0       4      "TNUR"
//	4       1      message type
//	5       2      Version, big endian
//	7              msgpack of the type's struct
//
// The first seven bytes, and refuseMsg, are the same in all versions, so that nodes can tell each other that their
// versions differ.
const (
	magic       = "TNUR"
	headerBytes = len(magic) + 3
)

type msgType uint8

const (
	typeHello  msgType = 1
	typeReady  msgType = 2
	typeRefuse msgType = 3
	typeAsk    msgType = 4
	typeAnswer msgType = 5
	typeFound  msgType = 6
	typeFormed msgType = 7

	typeRelease msgType = 8
)

// helloMsg opens a connection, and answers itself. To is the node that the dialler means to reach.
type helloMsg struct {
	Kind  Kind
	To    ballot.NodeID
	Hello Hello
}

// readyMsg is the dialler's consent: the connection is established.
type readyMsg struct{}

// refuseMsg ends a connection.
type refuseMsg struct {
	Reason Reason
	Text   string
}

// askMsg asks what a node knows of the cluster. The whole list travels in place of a hash of it, because a refusal
// has to show both.
type askMsg struct {
	From, To ballot.NodeID
	Store    ident.StoreID
	List     []Address
}

// answerMsg tells it. Cluster and Membership are zero on a node that is in no cluster. Over: it does not wait for a
// genesis any more, so it cannot be counted on for one.
type answerMsg struct {
	Node       ballot.NodeID
	Store      ident.StoreID
	List       []Address
	Cluster    ident.ClusterID
	Membership ident.Membership
	Over       bool
}

func (m *answerMsg) formed() bool { return !m.Cluster.IsZero() }

// foundMsg is genesis. It follows an ask on the same connection.
type foundMsg struct {
	Cluster    ident.ClusterID
	Membership ident.Membership
}

// formedMsg says that the genesis is durable.
type formedMsg struct{}

var errMalformed = errors.New("not a handshake of this program")

// versionError is a message that may be sound but is of another version.
type versionError struct{ theirs uint16 }

func (e *versionError) Error() string {
	return fmt.Sprintf("protocol version %d, this node speaks version %d", e.theirs, Version)
}

func encodeMsg(m any) []byte {
	b := append(make([]byte, 0, 256), magic...)
	b = append(b, byte(typeOf(m)))
	b = binary.BigEndian.AppendUint16(b, Version)
	return codec.Append(b, m)
}

func typeOf(m any) msgType {
	switch m.(type) {
	case *helloMsg:
		return typeHello
	case *readyMsg:
		return typeReady
	case *refuseMsg:
		return typeRefuse
	case *askMsg:
		return typeAsk
	case *answerMsg:
		return typeAnswer
	case *foundMsg:
		return typeFound
	case *formedMsg:
		return typeFormed
	case *releaseMsg:
		return typeRelease
	}
	panic(fmt.Sprintf("transport: %T is no message", m))
}

// decodeMsg is the message in b, a pointer to one of the structs above, checked so far that it can be shown and
// worked on. b may come from anybody. Refusals are read whatever their version.
func decodeMsg(b []byte) (any, error) {
	if len(b) < headerBytes || string(b[:len(magic)]) != magic {
		return nil, errMalformed
	}
	typ, version := msgType(b[len(magic)]), binary.BigEndian.Uint16(b[len(magic)+1:])
	if version != Version && typ != typeRefuse {
		return nil, &versionError{version}
	}
	m := map[msgType]func() any{
		typeHello: func() any { return &helloMsg{} }, typeReady: func() any { return &readyMsg{} },
		typeRefuse: func() any { return &refuseMsg{} }, typeAsk: func() any { return &askMsg{} },
		typeAnswer: func() any { return &answerMsg{} }, typeFound: func() any { return &foundMsg{} },
		typeFormed: func() any { return &formedMsg{} }, typeRelease: func() any { return &releaseMsg{} },
	}[typ]
	if m == nil {
		return nil, fmt.Errorf("%w: message type %d", errMalformed, typ)
	}
	msg := m()
	if err := codec.Unmarshal(b[headerBytes:], msg); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if err := checkMsg(msg); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return msg, nil
}

func checkMsg(m any) error {
	switch m := m.(type) {
	case *helloMsg:
		if m.Kind < KindLease || m.Kind > KindNamed {
			return fmt.Errorf("connection of unknown kind %d", m.Kind)
		}
		if len(m.Hello.ClientAddr) > maxAddrBytes || !printable(m.Hello.ClientAddr) {
			return errors.New("client address is too long or not plain text")
		}
		if m.Hello.Incarnation.Node != m.Hello.Node {
			return errors.New("incarnation of another node")
		}
		return checkNode(m.Hello.Node)
	case *refuseMsg:
		m.Text = plain(m.Text)
	case *askMsg:
		return errors.Join(checkNode(m.From), checkStore(m.Store), checkList(m.List))
	case *answerMsg:
		err := errors.Join(checkNode(m.Node), checkStore(m.Store), checkList(m.List))
		if m.formed() {
			err = errors.Join(err, checkMembership(m.Membership))
		}
		return err
	case *foundMsg:
		if m.Cluster.IsZero() {
			return errors.New("genesis without a cluster id")
		}
		return checkMembership(m.Membership)
	case *releaseMsg:
		return checkRelease(m)
	}
	return nil
}

func checkNode(n ballot.NodeID) error {
	if n < 1 || n > ballot.MaxNodeID {
		return fmt.Errorf("node id %d is not in 1 to %d", n, ballot.MaxNodeID)
	}
	return nil
}

func checkStore(s ident.StoreID) error {
	if s.IsZero() {
		return errors.New("no store id")
	}
	return nil
}

// checkMembership makes sure of what ident.Membership promises, among it that Voters will not panic.
func checkMembership(m ident.Membership) error {
	if m.Number == 0 || len(m.Members) == 0 || len(m.Members) > quorum.MaxVoters {
		return fmt.Errorf("membership %d with %d members", m.Number, len(m.Members))
	}
	for i, x := range m.Members {
		if err := errors.Join(checkNode(x.Node), checkStore(x.Store)); err != nil {
			return err
		}
		if i > 0 && m.Members[i-1].Node >= x.Node {
			return errors.New("members out of order")
		}
	}
	return nil
}

// plain is s cut to a length and without what would confuse a terminal.
func plain(s string) string {
	if len(s) > maxTextBytes {
		s = s[:maxTextBytes]
	}
	out := []rune(s)
	for i, r := range out {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == '\uFFFD' {
			out[i] = '?'
		}
	}
	return string(out)
}
