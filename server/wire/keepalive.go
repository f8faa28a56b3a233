package wire

import (
	"fmt"

	"tenure/internal/ballot"
)

// Marks only grow while a store keeps what it was given. Both must be durable when they are told: a mark that a crash
// could take back would make peers refuse an honest store.
type Marks struct {
	Promised ballot.Ballot // highest promise in the log
	Accepted uint64        // highest slot with an accepted entry
}

// AppendKeepalive appends the body that a node sends now and then to show its peer that it is alive. On log connections
// it carries the sender's marks; nil: none.
func AppendKeepalive(b []byte, m *Marks) []byte {
	if m == nil {
		return append(b, typeKeepalive)
	}
	return encode(b, typeKeepalive, m)
}

// IsKeepalive reports whether body is a keepalive or nothing at all, which is not for the handler of a connection.
func IsKeepalive(body []byte) bool { return len(body) == 0 || body[0] == typeKeepalive }

// DecodeKeepalive returns the marks in a keepalive, nil if there are none. The error wraps ErrMalformed.
func DecodeKeepalive(body []byte) (*Marks, error) {
	if !IsKeepalive(body) || len(body) == 0 {
		return nil, fmt.Errorf("%w: it is no keepalive", ErrMalformed)
	}
	if len(body) == 1 {
		return nil, nil
	}
	m := new(Marks)
	if err := decode(body, m); err != nil {
		return nil, err
	}
	return m, nil
}

// Max returns the higher of both marks.
func (m Marks) Max(o Marks) Marks {
	return Marks{Promised: m.Promised.Max(o.Promised), Accepted: max(m.Accepted, o.Accepted)}
}
