package acceptor

import (
	"encoding/binary"
	"fmt"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// The payload of an entry is its ballot, 32 bytes, and its value. Numbers are big-endian.
const ballotBytes = 32

func slotKey(s multipaxos.Slot) []byte { return binary.BigEndian.AppendUint64(nil, uint64(s)) }

func decodeSlot(key []byte) (multipaxos.Slot, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("a key of %d bytes is no slot", len(key))
	}
	return multipaxos.Slot(binary.BigEndian.Uint64(key)), nil
}

// sealEntry appends the record of e under key to buf.
func sealEntry(buf, key []byte, e *multipaxos.Entry) []byte {
	var head [ballotBytes]byte
	binary.BigEndian.PutUint64(head[0:], e.Ballot.Counter)
	binary.BigEndian.PutUint64(head[8:], e.Ballot.Restart)
	binary.BigEndian.PutUint64(head[16:], uint64(e.Ballot.Node))
	binary.BigEndian.PutUint64(head[24:], e.Ballot.Nonce)
	return entrySeed.Seal(buf, key, head[:], e.Value)
}

// OpenEntry checks and decodes the record of an entry. Its value is a part of record.
func OpenEntry(key, record []byte) (multipaxos.Entry, error) {
	slot, err := decodeSlot(key)
	if err != nil {
		return multipaxos.Entry{}, err
	}
	p, err := entrySeed.Open(key, record)
	if err != nil {
		return multipaxos.Entry{}, fmt.Errorf("the entry of slot %d %w", slot, err)
	}
	if len(p) < ballotBytes {
		return multipaxos.Entry{}, fmt.Errorf("the entry of slot %d has no whole ballot", slot)
	}
	return multipaxos.Entry{
		Slot: slot,
		Ballot: ballot.Ballot{
			Counter: binary.BigEndian.Uint64(p[0:]), Restart: binary.BigEndian.Uint64(p[8:]),
			Node: ballot.NodeID(binary.BigEndian.Uint64(p[16:])), Nonce: binary.BigEndian.Uint64(p[24:]),
		},
		Value: p[ballotBytes:],
	}, nil
}
