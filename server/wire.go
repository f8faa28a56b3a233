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
	frameHealth      byte = 8 // lease connection: replica.Health
)

// The messages that carry values are laid out so that values are neither copied nor looked at:
//
//	type (1 byte) | length of the header (4 bytes, big-endian) | header (msgpack) | the values, one after the other
//
// The header is the message without its values, and the length of each; fields.go writes it. Decoded values alias the
// frame, but for the bodies of answers.

// nudge names the node that the old master would like to see as the next one.
type nudge struct{ Node uint64 }

func encodeLease(m *lease.Message) []byte { return codec.Append([]byte{frameLease}, m) }
func encodeNudge(n nudge) []byte          { return codec.Append([]byte{frameNudge}, &n) }

// encodeLog leaves out who sends to whom: the connection knows, and so peers can share the bytes.
func encodeLog(m *multipaxos.Message) []byte {
	total := 0
	for i := range m.Entries {
		total += len(m.Entries[i].Value)
	}
	body := beginHeader(make([]byte, 0, total+headerRoom+entryRoom*len(m.Entries)), frameLog)
	body = appendLogHeader(body, m)
	endHeader(body)
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
	total := 0
	for i := range m.Writes {
		total += len(m.Writes[i].Command)
	}
	for i := range m.Answers {
		total += len(m.Answers[i].Result.Body)
	}
	body := beginHeader(make([]byte, 0, total+headerRoom+writeRoom*len(m.Writes)+answerRoom*len(m.Answers)), frameReplica)
	body = appendReplicaHeader(body, m)
	endHeader(body)
	for i := range m.Writes {
		body = append(body, m.Writes[i].Command...)
	}
	for i := range m.Answers {
		body = append(body, m.Answers[i].Result.Body...)
	}
	return body
}

// Room that is mostly enough for what stands before the values.
const (
	headerRoom = 128
	entryRoom  = 48
	writeRoom  = 32
	answerRoom = 32
)

const prefixBytes = 1 + 4 // type, length of the header

func beginHeader(buf []byte, kind byte) []byte { return append(buf, kind, 0, 0, 0, 0) }

// endHeader fills in the length of the header that fills body from its prefix to its end.
func endHeader(body []byte) { binary.BigEndian.PutUint32(body[1:], uint32(len(body)-prefixBytes)) }

var errFrame = errors.New("malformed frame")

// cutHeader gives the header of a body and what follows it.
func cutHeader(body []byte) (header, rest []byte, err error) {
	if len(body) < prefixBytes {
		return nil, nil, fmt.Errorf("%w: %d bytes", errFrame, len(body))
	}
	n := binary.BigEndian.Uint32(body[1:])
	if uint64(n) > uint64(len(body)-prefixBytes) {
		return nil, nil, fmt.Errorf("%w: a header of %d bytes in a body of %d", errFrame, n, len(body))
	}
	return body[prefixBytes : prefixBytes+n], body[prefixBytes+n:], nil
}

func decodeLog(body []byte) (*multipaxos.Message, error) {
	header, rest, err := cutHeader(body)
	if err != nil {
		return nil, err
	}
	m := new(multipaxos.Message)
	if err := readLogHeader(header, rest, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return m, nil
}

func decodeReplica(body []byte) (*replica.Message, error) {
	header, rest, err := cutHeader(body)
	if err != nil {
		return nil, err
	}
	m := new(replica.Message)
	if err := readReplicaHeader(header, rest, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return m, nil
}

// decodeInto decodes a body that is a type and a msgpack value.
func decodeInto(body []byte, v any) error {
	if err := codec.Unmarshal(body[1:], v); err != nil {
		return fmt.Errorf("frame of type %d: %w", body[0], err)
	}
	return nil
}
