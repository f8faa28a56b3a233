package server

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tenure/internal/codec"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// The first byte of a frame's body. The numbers are on the wire: never reused. A frame of a type that this version
// does not know is ignored and counted.
const (
	frameLease       byte = 1 // lease connection: lease.Message
	frameNudge       byte = 2 // lease connection: nudge
	frameLog         byte = 3 // log connection: multipaxos.Message
	frameReplica     byte = 4 // log connection: replica.Message
	frameTransfer    byte = 5 // log connection: transferAsk
	frameTransferred byte = 6 // log connection: transferAnswer
)

// The messages that carry values are laid out so that values are neither copied nor looked at:
//
//	type (1 byte) | length of the header (4 bytes, big-endian) | header (msgpack) | the values, one after the other
//
// The header is the message without its values, and the length of each. Decoded values alias the frame.

// logHeader is the header of a frameLog.
type logHeader struct {
	Message multipaxos.Message
	Sizes   []uint32 // of the entries' values
}

// replicaHeader is the header of a frameReplica.
type replicaHeader struct {
	Message replica.Message
	Sizes   []uint32 // of the writes' commands
}

// nudge names the node that the old master would like to see as the next one.
type nudge struct{ Node uint64 }

func encodeLease(m *lease.Message) []byte { return codec.Append([]byte{frameLease}, m) }
func encodeNudge(n nudge) []byte          { return codec.Append([]byte{frameNudge}, &n) }

// encodeLog leaves out who sends to whom: the connection knows, and so peers can share the bytes.
func encodeLog(m *multipaxos.Message) []byte {
	h := logHeader{Message: *m}
	h.Message.From, h.Message.To = 0, 0
	if len(m.Entries) == 0 {
		return appendHeader(nil, frameLog, &h)
	}
	h.Message.Entries = append([]multipaxos.Entry(nil), m.Entries...)
	h.Sizes = make([]uint32, len(m.Entries))
	total := 0
	for i := range m.Entries {
		h.Sizes[i] = uint32(len(m.Entries[i].Value))
		h.Message.Entries[i].Value = nil
		total += len(m.Entries[i].Value)
	}
	body := appendHeader(make([]byte, 0, total+headerRoom+entryRoom*len(m.Entries)), frameLog, &h)
	for i := range m.Entries {
		body = append(body, m.Entries[i].Value...)
	}
	return body
}

// sharesBody tells whether a and b, for different peers, have the same bytes: an Accept goes to all of them with the
// same entries, and is encoded once.
func sharesBody(a, b *multipaxos.Message) bool {
	return a.Kind == multipaxos.KindAccept && b.Kind == a.Kind && a.Ballot == b.Ballot && a.Chosen == b.Chosen && a.Folded == b.Folded &&
		len(a.Entries) > 0 && len(a.Entries) == len(b.Entries) && &a.Entries[0] == &b.Entries[0]
}

func encodeReplica(m *replica.Message) []byte {
	h := replicaHeader{Message: *m}
	h.Message.From, h.Message.To = 0, 0
	if len(m.Writes) == 0 {
		return appendHeader(nil, frameReplica, &h)
	}
	h.Message.Writes = append([]replica.ForwardedWrite(nil), m.Writes...)
	h.Sizes = make([]uint32, len(m.Writes))
	total := 0
	for i := range m.Writes {
		h.Sizes[i] = uint32(len(m.Writes[i].Command))
		h.Message.Writes[i].Command = nil
		total += len(m.Writes[i].Command)
	}
	body := appendHeader(make([]byte, 0, total+headerRoom+writeRoom*len(m.Writes)), frameReplica, &h)
	for i := range m.Writes {
		body = append(body, m.Writes[i].Command...)
	}
	return body
}

// Room that is surely enough for what stands before the values.
const (
	headerRoom = 160
	entryRoom  = 48
	writeRoom  = 32
)

func appendHeader(buf []byte, kind byte, header any) []byte {
	start := len(buf)
	buf = append(buf, kind, 0, 0, 0, 0)
	buf = codec.Append(buf, header)
	binary.BigEndian.PutUint32(buf[start+1:], uint32(len(buf)-start-5))
	return buf
}

var errFrame = errors.New("malformed frame")

// cutHeader decodes the header of a body and returns what follows it.
func cutHeader(body []byte, header any) ([]byte, error) {
	if len(body) < 5 {
		return nil, fmt.Errorf("%w: %d bytes", errFrame, len(body))
	}
	n := binary.BigEndian.Uint32(body[1:])
	if uint64(n) > uint64(len(body)-5) {
		return nil, fmt.Errorf("%w: a header of %d bytes in a body of %d", errFrame, n, len(body))
	}
	return body[5+n:], codec.Unmarshal(body[5:5+n], header)
}

// cutValues hands the values out, one to each of count places.
func cutValues(rest []byte, sizes []uint32, count int, give func(i int, value []byte)) error {
	if len(sizes) != count {
		return fmt.Errorf("%w: %d lengths for %d values", errFrame, len(sizes), count)
	}
	for i, n := range sizes {
		if uint64(n) > uint64(len(rest)) {
			return fmt.Errorf("%w: a value of %d bytes with %d left", errFrame, n, len(rest))
		}
		if n > 0 {
			give(i, rest[:n:n])
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes after the last value", errFrame, len(rest))
	}
	return nil
}

func decodeLog(body []byte) (*multipaxos.Message, error) {
	h := new(logHeader)
	rest, err := cutHeader(body, h)
	if err != nil {
		return nil, err
	}
	m := &h.Message
	return m, cutValues(rest, h.Sizes, len(m.Entries), func(i int, v []byte) { m.Entries[i].Value = v })
}

func decodeReplica(body []byte) (*replica.Message, error) {
	h := new(replicaHeader)
	rest, err := cutHeader(body, h)
	if err != nil {
		return nil, err
	}
	m := &h.Message
	return m, cutValues(rest, h.Sizes, len(m.Writes), func(i int, v []byte) { m.Writes[i].Command = v })
}

// decodeInto decodes a body that is a type and a msgpack value.
func decodeInto(body []byte, v any) error {
	if err := codec.Unmarshal(body[1:], v); err != nil {
		return fmt.Errorf("frame of type %d: %w", body[0], err)
	}
	return nil
}
