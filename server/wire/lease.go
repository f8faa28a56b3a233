package wire

import (
	"fmt"

	"tenure/lease"
	"tenure/server/replica"
)

// Nudge tells all members which of them the old master would like to see as the next one.
type Nudge struct {
	Node uint64 // 0: none of them
}

// LeaseBody is what a body on a lease connection says; exactly one field is set.
type LeaseBody struct {
	Message *lease.Message
	Nudge   *Nudge
	Health  *replica.Health
}

// EncodeLease returns the body of m.
func EncodeLease(m *lease.Message) []byte { return encode(typeLease, m) }

// EncodeNudge returns the body of n.
func EncodeNudge(n Nudge) []byte { return encode(typeNudge, &n) }

// EncodeHealth returns the body of h.
func EncodeHealth(h *replica.Health) []byte { return encode(typeHealth, h) }

// DecodeLease decodes a body from a lease connection. The error wraps ErrMalformed or ErrUnknownType.
func DecodeLease(body []byte) (b LeaseBody, err error) {
	if len(body) == 0 {
		return b, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	switch body[0] {
	case typeLease:
		b.Message = new(lease.Message)
		err = decode(body, b.Message)
	case typeNudge:
		b.Nudge = new(Nudge)
		err = decode(body, b.Nudge)
	case typeHealth:
		b.Health = new(replica.Health)
		err = decode(body, b.Health)
	default:
		err = fmt.Errorf("%w: %d", ErrUnknownType, body[0])
	}
	if err != nil {
		return LeaseBody{}, err
	}
	return b, nil
}
