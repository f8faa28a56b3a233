package wire

import "tenure/internal/ballot"

// Raise passes on to the master that somebody has asked a node to raise the cluster's feature level.
type Raise struct {
	ID uint64 // drawn by the asking node
}

// Raised is the master's answer. Without Done nothing was raised.
type Raised struct {
	ID     uint64
	Done   bool          // the command is on its way, or the level was reached before
	Master ballot.NodeID // ask that node instead; 0: none is known
	// Older and Unheard are why it cannot be raised, as in replica.LevelAnswer.
	Older, Unheard []ballot.NodeID
}

// EncodeRaise returns the body of r.
func EncodeRaise(r Raise) []byte { return encode(nil, typeRaise, &r) }

// EncodeRaised returns the body of r.
func EncodeRaised(r *Raised) []byte { return encode(nil, typeRaised, r) }
