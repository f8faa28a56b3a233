package wire

import (
	"fmt"
	"math"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// LogBody is what a body on a log connection says; exactly one field is set.
type LogBody struct {
	Log      *multipaxos.Message
	Replica  *replica.Message
	Question *Question
	Answer   *Answer
	Archived *Archived
}

// DecodeLog decodes a body from the log connection by which node from speaks to node to. The values of entries and
// writes alias body. The error wraps ErrMalformed or ErrUnknownType.
func DecodeLog(body []byte, from, to ballot.NodeID) (b LogBody, err error) {
	if len(body) == 0 {
		return b, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	switch body[0] {
	case typeLog:
		b.Log = &multipaxos.Message{From: from, To: to}
		err = decodeLog(body, b.Log)
	case typeReplica:
		b.Replica = &replica.Message{From: from, To: to}
		err = decodeReplica(body, b.Replica)
	case typeQuestion:
		b.Question = new(Question)
		err = decodeWithin(MaxQuestionBytes, body, b.Question)
	case typeAnswered:
		b.Answer = new(Answer)
		err = decodeWithin(MaxAnswerBytes, body, b.Answer)
	case typeArchived:
		b.Archived = new(Archived)
		err = decode(body, b.Archived)
	default:
		err = fmt.Errorf("%w: %d", ErrUnknownType, body[0])
	}
	if err != nil {
		return LogBody{}, err
	}
	return b, nil
}

// The header of a multipaxos.Message. It is written by hand: under the writes of 64 clients, reflection over it and
// over the header of a replica.Message took a twelfth of the nodes' processor time. The values behind it are those of
// the entries.
//
//	array of 2
//	  array of 13: the message
//	    0  Kind        number up to 255
//	    1  From        0: the connection knows
//	    2  To          0: the connection knows, and so Accepts to several peers share their bytes
//	    3  Ballot      array of 4: Counter, Restart, Node, Nonce
//	    4  Promised    array of 4, as Ballot
//	    5  Slot        number
//	    6  Through     number
//	    7  Chosen      number
//	    8  Truncated   number
//	    9  Round       number
//	    10 Membership  number
//	    11 Last        bool
//	    12 Entries     nil, or an array of arrays of 3: Slot, Ballot (array of 4), nil in place of Value
//	  lengths of the entries' values: nil, or an array of as many numbers as there are entries
//
// This is what codec.Marshal makes of struct{ Message multipaxos.Message; Lengths []uint32 } without From, To and
// values.

const (
	entrySpace = 48 // mostly enough for an entry in the header
	leastEntry = 8  // bytes that an entry takes at least in a header that was written here
)

// EncodeLogs calls send for each message with its body. Accepts of the same entries to several peers share one body,
// which must not be changed.
func EncodeLogs(ms []multipaxos.Message, send func(m *multipaxos.Message, body []byte)) {
	var body []byte
	for i := range ms {
		if i == 0 || !sharesBody(&ms[i-1], &ms[i]) {
			body = EncodeLog(&ms[i])
		}
		send(&ms[i], body)
	}
}

// sharesBody reports whether a and b, to different peers, have the same bytes: an Accept goes to all of them with the
// same entries.
func sharesBody(a, b *multipaxos.Message) bool {
	return a.Kind == multipaxos.KindAccept && b.Kind == a.Kind && a.Ballot == b.Ballot &&
		a.Chosen == b.Chosen && len(a.Entries) > 0 && len(a.Entries) == len(b.Entries) && &a.Entries[0] == &b.Entries[0]
}

// EncodeLog returns the body of m, without From and To, in new memory.
func EncodeLog(m *multipaxos.Message) []byte {
	total := headerSpace + entrySpace*len(m.Entries)
	for i := range m.Entries {
		total += len(m.Entries[i].Value)
	}
	return AppendLog(make([]byte, 0, total), m)
}

// AppendLog appends the body of m, without From and To.
func AppendLog(b []byte, m *multipaxos.Message) []byte {
	start := len(b)
	b = appendLogHeader(beginHeader(b, typeLog), m)
	endHeader(b[start:])
	for i := range m.Entries {
		b = append(b, m.Entries[i].Value...)
	}
	return b
}

func appendLogHeader(b []byte, m *multipaxos.Message) []byte {
	b = codec.AppendArray(b, 2)
	b = codec.AppendArray(b, 13)
	b = codec.AppendUint(b, uint64(m.Kind))
	b = append(b, 0, 0) // From, To
	b = appendBallot(b, m.Ballot)
	b = appendBallot(b, m.Promised)
	for _, s := range [...]multipaxos.Slot{m.Slot, m.Through, m.Chosen, m.Truncated} {
		b = codec.AppendUint(b, uint64(s))
	}
	b = codec.AppendUint(b, m.Round)
	b = codec.AppendUint(b, m.Membership)
	b = codec.AppendBool(b, m.Last)
	if m.Entries == nil {
		return codec.AppendNil(codec.AppendNil(b))
	}
	b = codec.AppendArray(b, len(m.Entries))
	for i := range m.Entries {
		e := &m.Entries[i]
		b = codec.AppendArray(b, 3)
		b = codec.AppendUint(b, uint64(e.Slot))
		b = appendBallot(b, e.Ballot)
		b = codec.AppendNil(b)
	}
	b = codec.AppendArray(b, len(m.Entries))
	for i := range m.Entries {
		b = codec.AppendUint(b, uint64(len(m.Entries[i].Value)))
	}
	return b
}

func appendBallot(b []byte, x ballot.Ballot) []byte {
	b = codec.AppendArray(b, 4)
	b = codec.AppendUint(b, x.Counter)
	b = codec.AppendUint(b, x.Restart)
	b = codec.AppendUint(b, uint64(x.Node))
	return codec.AppendUint(b, x.Nonce)
}

func decodeLog(body []byte, m *multipaxos.Message) error {
	header, values, err := cutHeader(body)
	if err != nil {
		return err
	}
	return readLog(header, values, m)
}

// readLog reads a header into m, and sets the values of its entries.
func readLog(header, values []byte, m *multipaxos.Message) error {
	r := valueReader{Reader: codec.NewReader(header), values: values}
	h := r.Struct()
	f := h.Struct()
	m.Kind = multipaxos.Kind(f.Small(math.MaxUint8))
	f.Skip() // From
	f.Skip() // To
	m.Ballot = readBallot(f.Struct())
	m.Promised = readBallot(f.Struct())
	for _, s := range [...]*multipaxos.Slot{&m.Slot, &m.Through, &m.Chosen, &m.Truncated} {
		*s = multipaxos.Slot(f.Uint())
	}
	m.Round, m.Membership, m.Last = f.Uint(), f.Uint(), f.Bool()
	if f.Next() {
		if n := r.Array(); n > 0 {
			m.Entries = make([]multipaxos.Entry, 0, min(n, len(header)/leastEntry+1))
			for i := 0; i < n && !r.Failed(); i++ {
				e := r.Struct()
				slot := multipaxos.Slot(e.Uint())
				m.Entries = append(m.Entries, multipaxos.Entry{Slot: slot, Ballot: readBallot(e.Struct())})
				e.Skip() // Value
				e.End()
			}
		}
	}
	f.End()
	r.each(r.lengths(&h), len(m.Entries), func(i int, v []byte) { m.Entries[i].Value = v })
	return r.end(&h)
}

func readBallot(f codec.Fields) ballot.Ballot {
	b := ballot.Ballot{Counter: f.Uint(), Restart: f.Uint(), Node: ballot.NodeID(f.Uint()), Nonce: f.Uint()}
	f.End()
	return b
}
