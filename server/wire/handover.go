package wire

// Nudge tells all members which of them the old master would like to see as the next one.
type Nudge struct {
	Node uint64 // 0: none of them
}

// EncodeNudge returns the body of n.
func EncodeNudge(n Nudge) []byte { return encode(nil, typeNudge, &n) }
