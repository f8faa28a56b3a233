package server

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// The headers of the log connection's frames, field by field. They are what codec.Marshal would make of
//
//	struct { Message multipaxos.Message; Sizes []uint32 }    // lengths of the entries' values, which are left out
//	struct { Message replica.Message; Sizes, Bodies []uint32 }
//	                               // lengths of the writes' commands, and of the answers' bodies; no Bodies if all are empty
//
// but for From and To, which are 0, and an answer's Result, which ends early where the rest of it is zero. Reflection over these two took a twelfth of the nodes' processor time under writes of 64
// clients; fields_test.go holds them against it. New fields go to the end of their struct, here and in the type.

func appendLogHeader(b []byte, m *multipaxos.Message) []byte {
	b = codec.AppendArray(b, 2)
	b = codec.AppendArray(b, 14)
	b = codec.AppendUint(b, uint64(m.Kind))
	b = append(b, 0, 0) // From, To
	b = appendBallot(b, m.Ballot)
	b = appendBallot(b, m.Promised)
	for _, s := range [...]multipaxos.Slot{m.Slot, m.Through, m.Chosen, m.Truncated, m.Folded} {
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

// readLogHeader reads a header into m, and gives the values in rest to its entries.
func readLogHeader(header, rest []byte, m *multipaxos.Message) error {
	r := codec.NewReader(header)
	h := r.Struct()
	f := h.Struct()
	m.Kind = multipaxos.Kind(f.Small(math.MaxUint8))
	f.Skip() // From
	f.Skip() // To
	m.Ballot = readBallot(f.Struct())
	m.Promised = readBallot(f.Struct())
	for _, s := range [...]*multipaxos.Slot{&m.Slot, &m.Through, &m.Chosen, &m.Truncated, &m.Folded} {
		*s = multipaxos.Slot(f.Uint())
	}
	m.Round, m.Membership, m.Last = f.Uint(), f.Uint(), f.Bool()
	if f.Next() {
		if n := r.Array(); n > 0 {
			m.Entries = make([]multipaxos.Entry, 0, min(n, len(header)/leastEntry+1))
			for range n {
				e := r.Struct()
				m.Entries = append(m.Entries, multipaxos.Entry{Slot: multipaxos.Slot(e.Uint()), Ballot: readBallot(e.Struct())})
				e.Skip()
				e.End()
				if r.Failed() {
					break
				}
			}
		}
	}
	f.End()
	rest, err := readValues(&r, listed(&r, &h), rest, len(m.Entries), func(i int, v []byte) { m.Entries[i].Value = v })
	if err != nil {
		return err
	}
	return endValues(&r, &h, rest)
}

// leastEntry and leastWrite bound what is allocated on a declared length: an element takes at least so many bytes if it
// was written by appendLogHeader or appendReplicaHeader.
const (
	leastEntry = 8
	leastWrite = 5
)

func readBallot(f codec.Fields) ballot.Ballot {
	b := ballot.Ballot{Counter: f.Uint(), Restart: f.Uint(), Node: ballot.NodeID(f.Uint()), Nonce: f.Uint()}
	f.End()
	return b
}

// listed begins a list, and gives how many elements it has.
func listed(r *codec.Reader, h *codec.Fields) int {
	if !h.Next() {
		return 0
	}
	return r.Array()
}

// readValues reads n lengths and hands so many values out, one to each of count places. It gives what is left of rest.
func readValues(r *codec.Reader, n int, rest []byte, count int, give func(i int, value []byte)) ([]byte, error) {
	if n != count {
		return nil, fmt.Errorf("%d lengths for %d values", n, count)
	}
	for i := range n {
		size := r.Uint(math.MaxUint32)
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("a value of %d bytes with %d left", size, len(rest))
		}
		if size > 0 {
			give(i, rest[:size:size])
		}
		rest = rest[size:]
	}
	return rest, nil
}

// endValues ends a header, behind whose values nothing follows.
func endValues(r *codec.Reader, h *codec.Fields, rest []byte) error {
	h.End()
	if err := r.End(); err != nil {
		return err
	}
	if len(rest) > 0 {
		return errTrailing
	}
	return nil
}

var errTrailing = errors.New("bytes after the last value")

func appendReplicaHeader(b []byte, m *replica.Message) []byte {
	bodies := hasBodies(m.Answers)
	if bodies {
		b = codec.AppendArray(b, 3)
	} else {
		b = codec.AppendArray(b, 2)
	}
	b = codec.AppendArray(b, 7)
	b = codec.AppendUint(b, uint64(m.Kind))
	b = append(b, 0, 0) // From, To
	b = appendVitals(b, &m.Vitals)
	b = appendWrites(b, m.Writes)
	b = appendAnswers(b, m.Answers)
	b = codec.AppendArray(b, 4)
	b = codec.AppendUint(b, m.Read.ID)
	b = codec.AppendBool(b, m.Read.Consistent)
	b = codec.AppendBool(b, m.Read.Granted)
	b = codec.AppendUint(b, m.Read.Slot)
	b = appendSizes(b, m.Writes, func(w *replica.ForwardedWrite) int { return len(w.Command) })
	if bodies {
		b = appendSizes(b, m.Answers, func(a *replica.ForwardedAnswer) int { return len(a.Result.Body) })
	}
	return b
}

// hasBodies tells whether any answer has a body.
func hasBodies(answers []replica.ForwardedAnswer) bool {
	for i := range answers {
		if answers[i].Result.Body != "" {
			return true
		}
	}
	return false
}

func appendSizes[T any](b []byte, list []T, size func(*T) int) []byte {
	if list == nil {
		return codec.AppendNil(b)
	}
	b = codec.AppendArray(b, len(list))
	for i := range list {
		b = codec.AppendUint(b, uint64(size(&list[i])))
	}
	return b
}

func appendVitals(b []byte, v *replica.Vitals) []byte {
	b = codec.AppendArray(b, 5)
	b = codec.AppendBool(b, v.Master)
	b = codec.AppendUint(b, v.Epoch)
	b = codec.AppendUint(b, v.Applied)
	b = codec.AppendInt(b, int64(v.LeaseLeft))
	return codec.AppendUint(b, uint64(v.Room))
}

func appendWrites(b []byte, writes []replica.ForwardedWrite) []byte {
	if writes == nil {
		return codec.AppendNil(b)
	}
	b = codec.AppendArray(b, len(writes))
	for i := range writes {
		w := &writes[i]
		b = codec.AppendArray(b, 4)
		b = codec.AppendUint(b, w.ID)
		b = codec.AppendNil(b)
		b = codec.AppendBool(b, w.Frees)
		b = codec.AppendInt(b, int64(w.WaitFor))
	}
	return b
}

func appendAnswers(b []byte, answers []replica.ForwardedAnswer) []byte {
	if answers == nil {
		return codec.AppendNil(b)
	}
	b = codec.AppendArray(b, len(answers))
	for i := range answers {
		a := &answers[i]
		b = codec.AppendArray(b, 4)
		b = codec.AppendUint(b, a.ID)
		b = codec.AppendUint(b, uint64(a.Outcome))
		b = codec.AppendUint(b, uint64(a.Reason))
		if a.Result.Dropped {
			b = codec.AppendArray(b, 5)
		} else {
			b = codec.AppendArray(b, 3)
		}
		b = codec.AppendUint(b, uint64(a.Result.Code))
		b = codec.AppendUint(b, a.Result.Revision)
		b = codec.AppendUint(b, a.Result.Count)
		if a.Result.Dropped {
			b = codec.AppendBool(codec.AppendNil(b), true) // no Body
		}
	}
	return b
}

// readReplicaHeader reads a header into m, and gives what is in rest to its writes and answers.
func readReplicaHeader(header, rest []byte, m *replica.Message) error {
	r := codec.NewReader(header)
	h := r.Struct()
	f := h.Struct()
	m.Kind = replica.MessageKind(f.Small(math.MaxUint8))
	f.Skip() // From
	f.Skip() // To
	v := f.Struct()
	m.Vitals = replica.Vitals{Master: v.Bool(), Epoch: v.Uint(), Applied: v.Uint(), LeaseLeft: time.Duration(v.Int()), Room: replica.Room(v.Small(math.MaxUint8))}
	v.End()
	if f.Next() {
		readWrites(&r, len(header), m)
	}
	if f.Next() {
		readAnswers(&r, len(header), m)
	}
	p := f.Struct()
	m.Read = replica.ReadPoint{ID: p.Uint(), Consistent: p.Bool(), Granted: p.Bool(), Slot: p.Uint()}
	p.End()
	f.End()
	rest, err := readValues(&r, listed(&r, &h), rest, len(m.Writes), func(i int, v []byte) { m.Writes[i].Command = v })
	if err != nil {
		return err
	}
	if n := listed(&r, &h); n > 0 {
		// Copied: an answer must not keep its frame alive, and other bodies with it.
		rest, err = readValues(&r, n, rest, len(m.Answers), func(i int, v []byte) { m.Answers[i].Result.Body = string(v) })
		if err != nil {
			return err
		}
	}
	return endValues(&r, &h, rest)
}

func readWrites(r *codec.Reader, limit int, m *replica.Message) {
	n := r.Array()
	if n == 0 {
		return
	}
	m.Writes = make([]replica.ForwardedWrite, 0, min(n, limit/leastWrite+1))
	for i := 0; i < n && !r.Failed(); i++ {
		w := r.Struct()
		x := replica.ForwardedWrite{ID: w.Uint()}
		w.Skip()
		x.Frees, x.WaitFor = w.Bool(), time.Duration(w.Int())
		w.End()
		m.Writes = append(m.Writes, x)
	}
}

func readAnswers(r *codec.Reader, limit int, m *replica.Message) {
	n := r.Array()
	if n == 0 {
		return
	}
	m.Answers = make([]replica.ForwardedAnswer, 0, min(n, limit/leastWrite+1))
	for i := 0; i < n && !r.Failed(); i++ {
		a := r.Struct()
		x := replica.ForwardedAnswer{ID: a.Uint(), Outcome: replica.Outcome(a.Small(math.MaxUint8)), Reason: replica.Reason(a.Small(math.MaxUint8))}
		res := a.Struct()
		x.Result = kv.Result{Code: kv.Code(res.Small(math.MaxUint8)), Revision: res.Uint(), Count: res.Uint()}
		res.Skip() // Body
		x.Result.Dropped = res.Bool()
		res.End()
		a.End()
		m.Answers = append(m.Answers, x)
	}
}
