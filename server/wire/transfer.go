package wire

// Transfer asks the master to hand over. A node that is not the master passes on what a client has asked it.
type Transfer struct {
	ID uint64 // the asking node's
	To uint64 // the node that is to be the next master; 0: any
}

// Transferred is the master's answer.
type Transferred struct {
	ID      uint64
	Problem string // "" if the master has handed over
}

// EncodeTransfer returns the body of t.
func EncodeTransfer(t Transfer) []byte { return encode(typeTransfer, &t) }

// EncodeTransferred returns the body of t.
func EncodeTransferred(t Transferred) []byte { return encode(typeTransferred, &t) }
