package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// Record is what one commit leaves.
type Record struct {
	// Number rises by one with each record of a store. Append sets it.
	Number uint64
	// Generation counts the commits of the home that were durable when this was written.
	Generation uint64
	// Marks are those of the log with this record.
	Marks multipaxos.Durable
	// Entries replace what is in their slots, in this order.
	Entries []multipaxos.Entry
}

// The body of a record, cut into the packages of its sectors:
//
//	0   4  bytes of the body, these included
//	4   8  generation
//	12  8  chosen
//	20  8  truncated
//	28  8  last
//	36 32  promised ballot: counter, restart, node, nonce
//	68  4  number of entries
//
// and for each entry: slot, 8 bytes; 1 and its ballot, or 0 if that is the ballot before it; the length of the value as
// a varint; the value. The ballot before the first entry is the promised one.
const (
	bodyBytes   = 72 // without entries
	ballotBytes = 32
	entryBytes  = 8 + 1 + 1 // the least that an entry takes
)

var (
	errBody = errors.New("its body is not that of a record")
	order   = binary.BigEndian
)

// Size returns the number of bytes that r takes in the ring.
func Size(r *Record) int { return sectorsOf(sizeOf(r)) * SectorBytes }

func sectorsOf(body int) int { return (body + spaceBytes - 1) / spaceBytes }

// sizeOf returns the length of r's body.
func sizeOf(r *Record) int {
	n := bodyBytes
	before := r.Marks.Promised
	for i := range r.Entries {
		e := &r.Entries[i]
		n += 8 + 1 + uvarintBytes(uint64(len(e.Value))) + len(e.Value)
		if e.Ballot != before {
			n += ballotBytes
			before = e.Ballot
		}
	}
	return n
}

func uvarintBytes(x uint64) int {
	n := 1
	for ; x >= 1<<7; x >>= 7 {
		n++
	}
	return n
}

// appendBody appends r's body to buf.
func appendBody(buf []byte, r *Record) []byte {
	buf = order.AppendUint32(buf, uint32(sizeOf(r)))
	buf = order.AppendUint64(buf, r.Generation)
	buf = order.AppendUint64(buf, uint64(r.Marks.Chosen))
	buf = order.AppendUint64(buf, uint64(r.Marks.Truncated))
	buf = order.AppendUint64(buf, uint64(r.Marks.Last))
	buf = appendBallot(buf, r.Marks.Promised)
	buf = order.AppendUint32(buf, uint32(len(r.Entries)))
	before := r.Marks.Promised
	for i := range r.Entries {
		e := &r.Entries[i]
		buf = order.AppendUint64(buf, uint64(e.Slot))
		if e.Ballot == before {
			buf = append(buf, 0)
		} else {
			buf = appendBallot(append(buf, 1), e.Ballot)
			before = e.Ballot
		}
		buf = binary.AppendUvarint(buf, uint64(len(e.Value)))
		buf = append(buf, e.Value...)
	}
	return buf
}

func appendBallot(buf []byte, b ballot.Ballot) []byte {
	buf = order.AppendUint64(buf, b.Counter)
	buf = order.AppendUint64(buf, b.Restart)
	buf = order.AppendUint64(buf, uint64(b.Node))
	return order.AppendUint64(buf, b.Nonce)
}

func readBallot(b []byte) ballot.Ballot {
	return ballot.Ballot{
		Counter: order.Uint64(b), Restart: order.Uint64(b[8:]), Node: ballot.NodeID(order.Uint64(b[16:])),
		Nonce: order.Uint64(b[24:]),
	}
}

// decode reads the body of a record, with the zeros behind it. The values are parts of body. It allocates a small
// multiple of body, whatever that says.
func decode(body []byte) (Record, error) {
	if len(body) < bodyBytes {
		return Record{}, errBody
	}
	n := order.Uint32(body)
	if n < bodyBytes || uint64(n) > uint64(len(body)) || sectorsOf(int(n)) != sectorsOf(len(body)) {
		return Record{}, errBody
	}
	r := Record{Generation: order.Uint64(body[4:])}
	r.Marks = multipaxos.Durable{
		Promised: readBallot(body[36:]), Chosen: multipaxos.Slot(order.Uint64(body[12:])),
		Truncated: multipaxos.Slot(order.Uint64(body[20:])), Last: multipaxos.Slot(order.Uint64(body[28:])),
	}
	count := order.Uint32(body[68:])
	body = body[bodyBytes:n]
	if uint64(count)*entryBytes > uint64(len(body)) {
		return Record{}, errBody
	}
	r.Entries = make([]multipaxos.Entry, 0, count)
	before := r.Marks.Promised
	for range count {
		e, rest, err := decodeEntry(body, before)
		if err != nil {
			return Record{}, err
		}
		r.Entries = append(r.Entries, e)
		before, body = e.Ballot, rest
	}
	if len(body) > 0 {
		return Record{}, errBody
	}
	return r, nil
}

// decodeEntry reads one entry and gives what follows it.
func decodeEntry(b []byte, before ballot.Ballot) (multipaxos.Entry, []byte, error) {
	if len(b) < entryBytes {
		return multipaxos.Entry{}, nil, errBody
	}
	e := multipaxos.Entry{Slot: multipaxos.Slot(order.Uint64(b)), Ballot: before}
	kind := b[8]
	b = b[9:]
	switch {
	case kind == 1 && len(b) >= ballotBytes:
		e.Ballot = readBallot(b)
		b = b[ballotBytes:]
	case kind != 0:
		return multipaxos.Entry{}, nil, fmt.Errorf("%w: slot %d", errBody, e.Slot)
	}
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return multipaxos.Entry{}, nil, fmt.Errorf("%w: slot %d", errBody, e.Slot)
	}
	end := used + int(n)
	e.Value = b[used:end:end]
	return e, b[end:], nil
}
