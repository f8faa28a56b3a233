package server

import (
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

// nudge names the node that the old master would like to see as the next one.
type nudge struct{ Node uint64 }

func encodeLease(m *lease.Message) []byte     { return codec.Append([]byte{frameLease}, m) }
func encodeNudge(n nudge) []byte              { return codec.Append([]byte{frameNudge}, &n) }
func encodeLog(m *multipaxos.Message) []byte  { return codec.Append([]byte{frameLog}, m) }
func encodeReplica(m *replica.Message) []byte { return codec.Append([]byte{frameReplica}, m) }
func decodeInto(body []byte, v any) error {
	if err := codec.Unmarshal(body[1:], v); err != nil {
		return fmt.Errorf("frame of type %d: %w", body[0], err)
	}
	return nil
}
