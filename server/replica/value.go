package replica

import (
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/multipaxos"
)

// The first byte of a value in the log. An empty value is a no-op. The numbers are on disks: never reused.
const (
	tagBatch byte = 1 // commands, kv.AppendBatch
	tagOpen  byte = 2 // opens an epoch
	// tagMembers is the record of the members, package members: the whole next one.
	tagMembers byte = 3
)

// barrier is the body of a barrier entry.
type barrier struct{ Ballot ballot.Ballot }

func openValue(b ballot.Ballot) []byte { return codec.Append([]byte{tagOpen}, barrier{Ballot: b}) }

// batchOf is the commands in a chosen value; nil if it holds none.
func batchOf(e multipaxos.Entry) ([]byte, error) {
	if len(e.Value) == 0 || e.Value[0] == tagOpen || e.Value[0] == tagMembers {
		return nil, nil
	}
	if e.Value[0] != tagBatch {
		return nil, fmt.Errorf("%w: slot %d has tag %d", ErrValue, e.Slot, e.Value[0])
	}
	return e.Value[1:], nil
}

// Content returns what a chosen entry holds, for what reads a log without being a node: a batch of commands, or the
// record of the cluster's members, or neither. An error wraps ErrValue.
func Content(e multipaxos.Entry) (commands, record []byte, err error) {
	if len(e.Value) > 0 && e.Value[0] == tagMembers {
		return nil, e.Value[1:], nil
	}
	commands, err = batchOf(e)
	return commands, nil, err
}
