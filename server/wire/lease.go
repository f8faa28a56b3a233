package wire

import (
	"fmt"

	"tenure/lease"
	"tenure/server/replica"
)

// LeaseBody is what a body on a lease connection says; exactly one field is set.
type LeaseBody struct {
	Message *lease.Message
	Nudge   *Nudge
	Health  *replica.Health
}

// AppendLease appends the body of m.
func AppendLease(b []byte, m *lease.Message) []byte { return encode(b, typeLease, m) }

// EncodeLease returns the body of m in new memory.
func EncodeLease(m *lease.Message) []byte { return AppendLease(nil, m) }

// AppendHealth appends the body of h.
func AppendHealth(b []byte, h *replica.Health) []byte { return encode(b, typeHealth, h) }

// EncodeHealth returns the body of h in new memory.
func EncodeHealth(h *replica.Health) []byte { return AppendHealth(nil, h) }

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
