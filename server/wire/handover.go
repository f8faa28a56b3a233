package wire

// Nudge tells all members which of them the old master would like to see as the next one.
type Nudge struct {
	Node uint64 // 0: none of them
}

// Transfer asks the master to hand over. A node that is not the master passes on what a client has asked it.
type Transfer struct {
	ID uint64 // drawn by the asking node
	To uint64 // the node that is to be the next master; 0: any
}

// Transferred is the master's answer.
type Transferred struct {
	ID      uint64
	Problem string // "" if the master has handed over
}

// EncodeNudge returns the body of n.
func EncodeNudge(n Nudge) []byte { return encode(nil, typeNudge, &n) }

// EncodeTransfer returns the body of t.
func EncodeTransfer(t Transfer) []byte { return encode(nil, typeTransfer, &t) }

// EncodeTransferred returns the body of t.
func EncodeTransferred(t Transferred) []byte { return encode(nil, typeTransferred, &t) }
