package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/replica/snapshots"
)

// MessageKind tells what a Message says.
type MessageKind uint8

// The messages between log parts beside those of the log itself.
const (
	KindHeartbeat     MessageKind = iota + 1 // state of the sender, sent regularly and at each change
	KindForward                              // writes for the master
	KindForwarded                            // their answers
	KindReadPoint                            // a follower asks the master for a read point
	KindReadPointR                           // and its answer
	KindSnapshotAsk                          // a node that is behind asks for pieces of a snapshot; not for the log part
	KindSnapshotPiece                        // one of them; not for the log part
)

// Message is one message between two nodes, of their log parts unless its kind says otherwise. It travels on the log
// connection.
type Message struct {
	Kind      MessageKind
	From, To  ballot.NodeID
	Heartbeat Heartbeat
	Writes    []Write
	Answers   []ForwardedAnswer
	Read      ReadPoint
	Snapshot  *snapshots.Message // of KindSnapshotAsk and KindSnapshotPiece only
}

// Heartbeat is what a node says of itself.
type Heartbeat struct {
	Master    bool   // ready to serve
	Epoch     uint64 // of that mastership
	Applied   uint64
	LeaseLeft time.Duration // a hint (L1)
	Space     Space
	// Membership is the number of the membership in force at the sender. A membership in force is durable, with all
	// entries below its own. Both lease acceptors know its number and refuse older stamps. 1: the membership of the
	// bootstrap, or a newer one not in force yet.
	Membership uint64
	// Excluding is how long, on the sender's clock, a lease can still live that its acceptors may have granted under
	// older stamps.
	Excluding time.Duration
	// Level is the highest feature level that the sender knows.
	Level uint64
	// Digests are those of the sender's state at its newest checkpoint and at some before it, at most MaxDigests; slots
	// rise. They are of DigestFormat. None: the sender has no checkpoint.
	DigestFormat uint64
	Digests      []Digest
	// Silent is how long, on the sender's clock, its acceptor of the master lease stays silent (A4), or a lease can
	// live that it accepted under older stamps.
	Silent time.Duration
}

// ForwardedAnswer is the master's answer to a forwarded write.
type ForwardedAnswer struct {
	ID      uint64
	Outcome Outcome
	Reason  Reason
	Result  kv.Result
}

// ReadPoint asks for, or gives, the slot up to which a node must have applied before it may answer the reads that
// wait for this point.
type ReadPoint struct {
	ID         uint64
	Consistent bool
	Granted    bool
	Slot       uint64
}
