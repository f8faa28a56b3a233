package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tenure/internal/codec"
)

// The first byte of a body. The numbers are on the wire: they are never reused.
const (
	typeKeepalive byte = 0
	typeLease     byte = 1
	typeNudge     byte = 2
	typeLog       byte = 3
	typeReplica   byte = 4
	typeQuestion  byte = 5
	typeAnswered  byte = 6
	typeNamed     byte = 7
	typeHealth    byte = 8
	typeClock     byte = 15
	typeArchived  byte = 20
)

// kindOf has the kind of the connections on which bodies of each type are sent, for all types but keepalives.
var kindOf = [...]Kind{
	typeLease: KindLease, typeNudge: KindLease, typeHealth: KindLease, typeClock: KindLease,
	typeLog: KindLog, typeReplica: KindLog, typeQuestion: KindLog, typeAnswered: KindLog, typeArchived: KindLog,
	typeNamed: KindNamed,
}

// Known reports whether this version knows the type of body on a connection of kind k. The decoder of that kind returns
// ErrUnknownType for any other body, which has to be ignored.
func Known(k Kind, body []byte) bool {
	return len(body) > 0 && int(body[0]) < len(kindOf) && kindOf[body[0]] == k
}

// The largest bodies that a node sends or takes, by the kind of the connection. That of a log connection is a setting.
const (
	MaxLeaseBytes = 64 << 10
	MaxNamedBytes = 1 << 20
)

var (
	// ErrMalformed is wrapped by errors about a body that no node of this Version sends.
	ErrMalformed = errors.New("malformed frame")
	// ErrUnknownType: the body is of a type that this version does not know. Newer versions may send such bodies; they
	// are to be ignored.
	ErrUnknownType = errors.New("frame of an unknown type")
)

// encode appends the body that is a type and a msgpack value.
func encode(b []byte, typ byte, v any) []byte { return codec.Append(append(b, typ), v) }

// decode decodes what encode has written, after its type.
func decode(body []byte, v any) error {
	if err := codec.Unmarshal(body[1:], v); err != nil {
		return fmt.Errorf("%w of type %d: %w", ErrMalformed, body[0], err)
	}
	return nil
}

// Bodies with values are laid out so that values are neither copied nor looked at:
//
//	offset  bytes  content
//	0       1      type
//	1       4      n, the length of the header, big endian
//	5       n      header: msgpack of the message without its values, and the length of each
//	5+n            the values, one after the other

const prefixBytes = 1 + 4

// headerSpace is mostly enough for what stands before the values, without the lists of the message.
const headerSpace = 128

func beginHeader(buf []byte, kind byte) []byte { return append(buf, kind, 0, 0, 0, 0) }

// endHeader fills in the length of the header, which fills body from its prefix to its end.
func endHeader(body []byte) { binary.BigEndian.PutUint32(body[1:], uint32(len(body)-prefixBytes)) }

// cutHeader returns the header of a body and the values behind it.
func cutHeader(body []byte) (header, values []byte, err error) {
	if len(body) < prefixBytes {
		return nil, nil, fmt.Errorf("%w: %d bytes", ErrMalformed, len(body))
	}
	n := binary.BigEndian.Uint32(body[1:])
	if uint64(n) > uint64(len(body)-prefixBytes) {
		return nil, nil, fmt.Errorf("%w: a header of %d bytes in a body of %d", ErrMalformed, n, len(body))
	}
	return body[prefixBytes : prefixBytes+n], body[prefixBytes+n:], nil
}

// valueReader reads a header with its lists of lengths, and hands out the values behind it.
type valueReader struct {
	codec.Reader
	values []byte
	err    error
}

// lengths begins a list of lengths, the next field of f, and returns how many there are.
func (r *valueReader) lengths(f *codec.Fields) int {
	if !f.Next() {
		return 0
	}
	return r.Array()
}

// each reads n lengths and hands so many values out, one to each of count places.
func (r *valueReader) each(n, count int, give func(i int, value []byte)) {
	if n != count {
		r.fail("%d lengths for %d values", n, count)
		return
	}
	for i := range n {
		size := r.Uint(uint64(len(r.values)))
		if r.Failed() {
			r.fail("a length is missing, or above the %d bytes that are left", len(r.values))
			return
		}
		if size > 0 {
			give(i, r.values[:size:size])
		}
		r.values = r.values[size:]
	}
}

func (r *valueReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

// end ends a header behind whose values nothing follows.
func (r *valueReader) end(f *codec.Fields) error {
	f.End()
	if err := r.End(); err != nil {
		r.fail("header: %v", err)
	}
	if len(r.values) > 0 {
		r.fail("%d bytes after the last value", len(r.values))
	}
	return r.err
}
