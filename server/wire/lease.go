package wire

import (
	"fmt"
	"math"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/lease"
	"tenure/server/replica"
	"tenure/server/replica/clocks"
)

// LeaseBody is what a body on a lease connection says; exactly one field is set.
type LeaseBody struct {
	Message *lease.Message
	Nudge   *Nudge
	Health  *replica.Health
	Clock   *clocks.Stamp
}

// AppendLease appends the body of m: its type, and msgpack of m, written by hand because there are so many of them.
// The first membership, which is all that older versions know, is not written.
func AppendLease(b []byte, m *lease.Message) []byte {
	b = append(b, typeLease)
	fields := 13
	if m.Membership > 1 {
		fields++
	}
	b = codec.AppendArray(b, fields)
	b = codec.AppendUint(b, uint64(m.Kind))
	b = codec.AppendUint(b, uint64(m.From))
	b = codec.AppendUint(b, uint64(m.To))
	b = codec.AppendString(b, m.Resource)
	b = codec.AppendUint(b, uint64(m.Class))
	b = appendBallot(b, m.Ballot)
	b = appendIncarnation(b, m.Owner)
	b = codec.AppendSigned(b, int64(m.Duration))
	b = appendBallot(b, m.Promised)
	b = codec.AppendBool(b, m.Live)
	b = appendIncarnation(b, m.LiveOwner)
	b = appendBallot(b, m.LiveBallot)
	b = codec.AppendSigned(b, int64(m.LiveLeft))
	if m.Membership > 1 {
		b = codec.AppendUint(b, m.Membership)
	}
	return b
}

// EncodeLease returns the body of m in new memory.
func EncodeLease(m *lease.Message) []byte { return AppendLease(make([]byte, 0, leaseSpace), m) }

// leaseSpace is mostly enough for a lease message.
const leaseSpace = 128

// AppendHealth appends the body of h.
func AppendHealth(b []byte, h *replica.Health) []byte { return encode(b, typeHealth, h) }

// EncodeHealth returns the body of h in new memory.
func EncodeHealth(h *replica.Health) []byte { return AppendHealth(nil, h) }

// EncodeClock returns the body of s.
func EncodeClock(s clocks.Stamp) []byte { return encode(nil, typeClock, &s) }

// DecodeLease decodes a body from a lease connection. The error wraps ErrMalformed or ErrUnknownType.
func DecodeLease(body []byte) (b LeaseBody, err error) {
	if len(body) == 0 {
		return b, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	switch body[0] {
	case typeLease:
		b.Message, err = decodeLease(body)
	case typeNudge:
		b.Nudge = new(Nudge)
		err = decode(body, b.Nudge)
	case typeHealth:
		b.Health = new(replica.Health)
		err = decode(body, b.Health)
	case typeClock:
		b.Clock = new(clocks.Stamp)
		err = decode(body, b.Clock)
	default:
		err = fmt.Errorf("%w: %d", ErrUnknownType, body[0])
	}
	if err != nil {
		return LeaseBody{}, err
	}
	return b, nil
}

func appendIncarnation(b []byte, i ballot.Incarnation) []byte {
	b = codec.AppendArray(b, 3)
	b = codec.AppendUint(b, i.Restart)
	b = codec.AppendUint(b, uint64(i.Node))
	return codec.AppendUint(b, i.Nonce)
}

// decodeLease reads the body of a lease message.
func decodeLease(body []byte) (*lease.Message, error) {
	r := codec.NewReader(body[1:])
	f := r.Struct()
	m := &lease.Message{
		Kind: lease.Kind(f.Small(math.MaxUint8)), From: ballot.NodeID(f.Uint()), To: ballot.NodeID(f.Uint()),
		Resource: resource(f.Bytes()), Class: uint8(f.Small(math.MaxUint8)),
		Ballot: readBallot(f.Struct()), Owner: readIncarnation(f.Struct()), Duration: time.Duration(f.Int()),
		Promised: readBallot(f.Struct()), Live: f.Bool(), LiveOwner: readIncarnation(f.Struct()),
		LiveBallot: readBallot(f.Struct()), LiveLeft: time.Duration(f.Int()), Membership: f.Uint(),
	}
	f.End()
	m.Membership = membership(m.Membership, leaseNumbered(m.Kind))
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("%w of type %d: %w", ErrMalformed, typeLease, err)
	}
	return m, nil
}

// membership returns the number of a membership as it is decoded. The first membership is not encoded: a message
// without a number is of membership 1, if its kind has a number at all.
func membership(number uint64, has bool) uint64 {
	switch {
	case number > 1:
		return number
	case has:
		return 1
	}
	return 0
}

func leaseNumbered(k lease.Kind) bool {
	return k == lease.KindPrepare || k == lease.KindPrepareRejected || k == lease.KindAccept || k == lease.KindAcceptRejected
}

// resource returns b as a string: the one that all have without a copy.
func resource(b []byte) string {
	if string(b) == lease.MasterResource {
		return lease.MasterResource
	}
	return string(b)
}

func readIncarnation(f codec.Fields) ballot.Incarnation {
	i := ballot.Incarnation{Restart: f.Uint(), Node: ballot.NodeID(f.Uint()), Nonce: f.Uint()}
	f.End()
	return i
}
