package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/internal/ident"
)

// Version is the newest version of the protocol between nodes that this release speaks, and OldestVersion the oldest. A
// release with a new Version also speaks that of the release before it. New fields, and new message types that may be
// ignored, keep the version. The commands in the log have feature levels (package kv).
//
// A message of the handshake carries the sender's OldestVersion, so that every release with that version can read it.
// Hello.Speaks carries the newest one. The connection uses the version that Common returns.
const (
	Version       uint16 = 1
	OldestVersion uint16 = 1
)

// Common returns the newest version that this node and a peer with the given newest version both speak.
func Common(newest uint16) uint16 { return max(OldestVersion, min(Version, newest)) }

// A message of the handshake, or of the bootstrap of a cluster, is the body of one frame:
//
//	offset  bytes  content
//	0       4      "TNUR"
//	4       1      message type
//	5       2      OldestVersion of the sender, big endian
//	7              msgpack of the type's struct
//
//	type  struct      from                          says
//	1     HelloMsg    dialler, then listener        who I am; the first message of a connection between members
//	2     ReadyMsg    dialler                       the connection is established
//	3     RefuseMsg   any                           why the connection ends
//	4     AskMsg      node without a cluster        what do you know of the cluster?
//	5     AnswerMsg   listener                      this
//	6     FoundMsg    founder, after the answer     this is our cluster
//	7     FormedMsg   listener                      that is durable here
//	8     ReleaseMsg  guardian of a dead process    that process is dead
//	9     JoinMsg     node without a cluster        let me join yours
//	10    JoinedMsg   listener                      you have this id now; or: ask that node
//
// The first seven bytes, and RefuseMsg, are the same in all versions, so that nodes can tell each other that their
// versions differ.
const (
	magic          = "TNUR"
	handshakeBytes = len(magic) + 3
)

// MaxHandshakeBytes is the largest body of a message of the handshake.
const MaxHandshakeBytes = 16 << 10

// maxHandshakeList is more than the elements of any list in a message of the handshake.
const maxHandshakeList = 128

// The types. The numbers are on the wire: they are never reused.
const (
	typeHello   = 1
	typeReady   = 2
	typeRefuse  = 3
	typeAsk     = 4
	typeAnswer  = 5
	typeFound   = 6
	typeFormed  = 7
	typeRelease = 8
	typeJoin    = 9
	typeJoined  = 10
)

// HandshakeMsg is a message of the handshake: a pointer to HelloMsg, ReadyMsg, RefuseMsg, AskMsg, AnswerMsg, FoundMsg,
// FormedMsg, ReleaseMsg, JoinMsg or JoinedMsg.
type HandshakeMsg interface {
	handshakeType() byte
	// check returns an error if the message cannot be shown or worked on. It may replace what cannot be shown.
	check() error
}

// HelloMsg opens a connection, and answers itself.
type HelloMsg struct {
	Kind  Kind
	To    ballot.NodeID // the node that the dialler means to reach
	Hello Hello
}

// ReadyMsg is the dialler's consent: the connection is established.
type ReadyMsg struct{}

// RefuseMsg ends a connection.
type RefuseMsg struct {
	Reason Reason
	Text   string
}

// MaxTextBytes bounds the text of a refusal.
const MaxTextBytes = 4 << 10

// Reason is why a node refused another.
type Reason uint8

// The reasons. The numbers are on the wire: they are never reused.
const (
	ReasonVersion    Reason = 1  // they speak different versions of the protocol
	ReasonNotReady   Reason = 2  // not now; the only one that passes by itself
	ReasonSelf       Reason = 3  // the node has reached itself
	ReasonNode       Reason = 4  // dialled as one node, it is another; or two processes use one node id
	ReasonCluster    Reason = 5  // they belong to different clusters
	ReasonNotMember  Reason = 6  // the membership does not list the node
	ReasonStore      Reason = 7  // the membership lists the node with another store
	ReasonConstants  Reason = 8  // the cluster constants differ
	ReasonRestart    Reason = 9  // the store's restart counter did not grow
	ReasonRolledBack Reason = 10 // the store has forgotten promises or votes
	ReasonBootstrap  Reason = 11 // a membership that this node must not accept
	ReasonLists      Reason = 12 // the nodes were started with different lists
	ReasonRemoved    Reason = 13 // the node is no member any more
	ReasonJoin       Reason = 14 // the node cannot join as it wants to
	ReasonLevel      Reason = 15 // a node is of a release that does not know the cluster's feature level
	// ReasonCertificate: the certificate is not that of the node, or there is TLS on one side only.
	ReasonCertificate Reason = 16
)

// AskMsg asks what a node knows of the cluster. The whole list travels in place of a hash of it, because a refusal has
// to show both.
type AskMsg struct {
	From, To ballot.NodeID
	Store    ident.StoreID
	List     []Address
}

// AnswerMsg answers an AskMsg. Cluster and Membership are zero on a node that is in no cluster.
type AnswerMsg struct {
	Node       ballot.NodeID
	Store      ident.StoreID
	List       []Address
	Cluster    ident.ClusterID
	Membership ident.Membership
	Over       bool // it does not wait for the bootstrap any more, so it cannot be counted on for one
}

// Formed reports whether the node is in a cluster.
func (m *AnswerMsg) Formed() bool { return !m.Cluster.IsZero() }

// FoundMsg brings a cluster into being. It follows an AskMsg on the same connection.
type FoundMsg struct {
	Cluster    ident.ClusterID
	Membership ident.Membership
}

// FormedMsg says that what FoundMsg brought is durable.
type FormedMsg struct{}

// MaxReleaseCounters bounds the ballots that one Release names.
const MaxReleaseCounters = 64

// Release is the guardian's report to the peers of its dead process (P7): Owner is dead, and Counters are its ballots
// that may still be recorded. All of them are of this one incarnation.
type Release struct {
	Cluster  ident.ClusterID
	Store    ident.StoreID
	Owner    ballot.Incarnation
	Counters []uint64 // 1 to MaxReleaseCounters
}

// ReleaseMsg is a Release to one node. It comes on a connection of its own and has no answer.
type ReleaseMsg struct {
	To      ballot.NodeID
	Release Release
}

func (*HelloMsg) handshakeType() byte   { return typeHello }
func (*ReadyMsg) handshakeType() byte   { return typeReady }
func (*RefuseMsg) handshakeType() byte  { return typeRefuse }
func (*AskMsg) handshakeType() byte     { return typeAsk }
func (*AnswerMsg) handshakeType() byte  { return typeAnswer }
func (*FoundMsg) handshakeType() byte   { return typeFound }
func (*FormedMsg) handshakeType() byte  { return typeFormed }
func (*ReleaseMsg) handshakeType() byte { return typeRelease }
func (*JoinMsg) handshakeType() byte    { return typeJoin }
func (*JoinedMsg) handshakeType() byte  { return typeJoined }

// ErrHandshake is wrapped by errors about bytes that are no message of the handshake.
var ErrHandshake = errors.New("not a handshake of this program")

// VersionError says that a message may be sound but is of another version.
type VersionError struct {
	Theirs uint16
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("protocol version %d, this node speaks versions %d to %d", e.Theirs, OldestVersion, Version)
}

// EncodeHandshake returns the body of m.
func EncodeHandshake(m HandshakeMsg) []byte {
	b := append(make([]byte, 0, 256), magic...)
	b = append(b, m.handshakeType())
	b = binary.BigEndian.AppendUint16(b, OldestVersion)
	return codec.Append(b, m)
}

// DecodeHandshake returns the message in body, checked so far that it can be shown and worked on. Body may come from
// anybody. Refusals are read whatever their version. The error is a *VersionError or wraps ErrHandshake.
func DecodeHandshake(body []byte) (HandshakeMsg, error) {
	if len(body) < handshakeBytes || string(body[:len(magic)]) != magic {
		return nil, ErrHandshake
	}
	typ, version := body[len(magic)], binary.BigEndian.Uint16(body[len(magic)+1:])
	if (version < OldestVersion || version > Version) && typ != typeRefuse {
		return nil, &VersionError{version}
	}
	m := newHandshakeMsg(typ)
	if m == nil {
		return nil, fmt.Errorf("%w: message type %d", ErrHandshake, typ)
	}
	short := codec.NewReader(body[handshakeBytes:])
	if short.SkipShort(maxHandshakeList); short.Failed() {
		return nil, fmt.Errorf("%w: a list of more than %d elements, or no message at all", ErrHandshake, maxHandshakeList)
	}
	if err := codec.Unmarshal(body[handshakeBytes:], m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	return m, nil
}

// newHandshakeMsg returns an empty message of a type, nil if there is no such type.
func newHandshakeMsg(typ byte) HandshakeMsg {
	switch typ {
	case typeHello:
		return &HelloMsg{}
	case typeReady:
		return &ReadyMsg{}
	case typeRefuse:
		return &RefuseMsg{}
	case typeAsk:
		return &AskMsg{}
	case typeAnswer:
		return &AnswerMsg{}
	case typeFound:
		return &FoundMsg{}
	case typeFormed:
		return &FormedMsg{}
	case typeRelease:
		return &ReleaseMsg{}
	case typeJoin:
		return &JoinMsg{}
	case typeJoined:
		return &JoinedMsg{}
	}
	return nil
}

func (m *HelloMsg) check() error {
	if m.Kind < KindLease || m.Kind > KindNamed {
		return fmt.Errorf("connection of unknown kind %d", m.Kind)
	}
	if m.Hello.Incarnation.Node != m.Hello.Node {
		return errors.New("incarnation of another node")
	}
	return errors.Join(CheckNode(m.Hello.Node), checkAddress("client address", m.Hello.ClientAddr),
		checkAddress("address for clients of Redis", m.Hello.RedisAddr), checkAddress("peer address", m.Hello.PeerAddr))
}

func (*ReadyMsg) check() error { return nil }

func (m *RefuseMsg) check() error {
	m.Text = plain(m.Text)
	return nil
}

func (m *AskMsg) check() error {
	return errors.Join(CheckNode(m.From), CheckStore(m.Store), CheckList(m.List))
}

func (m *AnswerMsg) check() error {
	err := errors.Join(CheckNode(m.Node), CheckStore(m.Store), CheckList(m.List))
	if m.Formed() {
		err = errors.Join(err, checkMembership(m.Membership))
	}
	return err
}

func (m *FoundMsg) check() error {
	if m.Cluster.IsZero() {
		return errors.New("a cluster without an id")
	}
	return checkMembership(m.Membership)
}

func (*FormedMsg) check() error { return nil }

func (m *ReleaseMsg) check() error {
	if n := len(m.Release.Counters); n < 1 || n > MaxReleaseCounters {
		return fmt.Errorf("a release of %d ballots", n)
	}
	if m.Release.Owner.IsZero() {
		return errors.New("a release without owner")
	}
	return errors.Join(CheckNode(m.To), CheckNode(m.Release.Owner.Node), CheckStore(m.Release.Store))
}
