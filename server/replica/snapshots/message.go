package snapshots

import "tenure/internal/ballot"

// Message is about a snapshot: an ask is for pieces, an answer is one of them or says why there is none. Positions,
// headers and pieces are storage's, and opaque here.
type Message struct {
	ID      uint64 // of the snapshot; 0 in an ask: any one of the state behind slot Above
	Above   uint64 // in an ask
	Pieces  uint64 // in an ask: how many, from After on
	Refused Refusal
	After   []byte // position where the piece begins; empty for the first one
	Next    []byte // that behind it; empty behind the last one
	Header  []byte // with the first piece
	Piece   []byte
}

// Refusal is why a node sends no piece.
type Refusal uint8

// The refusals. The numbers travel.
const (
	Given Refusal = 0 // it does
	Gone  Refusal = 1 // it does not have that snapshot any more
	None  Refusal = 2 // it has no state that is ahead of the asking node's
	Busy  Refusal = 3 // it sends another one
	Short Refusal = 4 // its disk is short of space, and would fill while it keeps a snapshot

	Disputed Refusal = 5 // voters differ, and a snapshot to another voter would decide who is right
	Stranger Refusal = 6 // the asking node is no member, as far as this one knows
)

// String returns the refusal for people.
func (r Refusal) String() string {
	switch r {
	case Gone:
		return "does not have this snapshot any more"
	case None:
		return "has no state that is ahead"
	case Busy:
		return "sends another snapshot"
	case Short:
		return "is short of space"
	case Disputed:
		return "is not sure of its state: replicas differ"
	case Stranger:
		return "does not know this node as a member"
	}
	return "refused"
}

// Outgoing is what there is to be sent to another node.
type Outgoing struct {
	To      ballot.NodeID
	Message *Message
}
