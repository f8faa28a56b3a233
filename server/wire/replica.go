package wire

import (
	"math"
	"time"

	"tenure/internal/codec"
	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/replica/snapshots"
)

// The header of a replica.Message, written by hand as that of a multipaxos.Message is. The values behind it are the
// commands of the writes, and then the bodies of the answers.
//
//	array of 2, or of 3 if an answer has a body
//	  array of 7, or of 8 if there is a Snapshot: the message
//	    0 Kind     number up to 255
//	    1 From     0: the connection knows
//	    2 To       0: the connection knows
//	    3 Heartbeat   array of 5, 6, 7, 8, 10 or 11: it ends behind the last of these that is not zero, or behind Space
//	      0 Master (bool)   1 Epoch   2 Applied   3 LeaseLeft (ns)   4 Space
//	      5 Membership      6 Excluding (ns)      7 Level
//	      8 DigestFormat    9 Digests: nil, or an array of at most MaxDigests arrays of 2: Slot, Sum
//	      10 Silent (ns)
//	    4 Writes   nil, or an array of arrays of 4: ID, nil in place of Command, Frees (bool), Wait (ns)
//	    5 Answers  nil, or an array of arrays of 4: ID, Outcome, Reason, Result
//	               Result: array of 3: Code, Revision, Count; or of 5 if it was dropped: nil in place of Body, true
//	    6 Read     array of 4: ID, Consistent (bool), Granted (bool), Slot
//	    7 Snapshot array of 8: ID, Above, Pieces, Refused, After, Next, Header, Piece
//	  lengths of the commands: nil, or an array of as many numbers as there are writes
//	  lengths of the bodies: an array of as many numbers as there are answers; left out if no answer has a body
//
// This is what codec.Marshal makes of struct{ Message replica.Message; Lengths, Bodies []uint32 } without From, To,
// values, and the zeros at the end of a Result or a Heartbeat.

const (
	writeSpace  = 32 // mostly enough for a write in the header
	answerSpace = 32

	snapshotSpace = 64
	leastWrite    = 5 // bytes that a write or an answer takes at least in a header that was written here
)

// EncodeReplica returns the body of m, without From and To, in new memory.
func EncodeReplica(m *replica.Message) []byte {
	total := headerSpace + writeSpace*len(m.Writes) + answerSpace*len(m.Answers)
	for i := range m.Writes {
		total += len(m.Writes[i].Command)
	}
	for i := range m.Answers {
		total += len(m.Answers[i].Result.Body)
	}
	if s := m.Snapshot; s != nil {
		total += snapshotSpace + len(s.After) + len(s.Next) + len(s.Header) + len(s.Piece)
	}
	return AppendReplica(make([]byte, 0, total), m)
}

// AppendReplica appends the body of m, without From and To.
func AppendReplica(b []byte, m *replica.Message) []byte {
	start := len(b)
	b = appendReplicaHeader(beginHeader(b, typeReplica), m)
	endHeader(b[start:])
	for i := range m.Writes {
		b = append(b, m.Writes[i].Command...)
	}
	for i := range m.Answers {
		b = append(b, m.Answers[i].Result.Body...)
	}
	return b
}

func appendReplicaHeader(b []byte, m *replica.Message) []byte {
	bodies := hasBodies(m.Answers)
	if bodies {
		b = codec.AppendArray(b, 3)
	} else {
		b = codec.AppendArray(b, 2)
	}
	if m.Snapshot != nil {
		b = codec.AppendArray(b, 8)
	} else {
		b = codec.AppendArray(b, 7)
	}
	b = codec.AppendUint(b, uint64(m.Kind))
	b = append(b, 0, 0) // From, To
	b = appendHeartbeat(b, &m.Heartbeat)
	b = appendWrites(b, m.Writes)
	b = appendAnswers(b, m.Answers)
	b = codec.AppendArray(b, 4)
	b = codec.AppendUint(b, m.Read.ID)
	b = codec.AppendBool(b, m.Read.Consistent)
	b = codec.AppendBool(b, m.Read.Granted)
	b = codec.AppendUint(b, m.Read.Slot)
	if m.Snapshot != nil {
		b = appendSnapshot(b, m.Snapshot)
	}
	b = appendLengths(b, m.Writes, func(w *replica.Write) int { return len(w.Command) })
	if bodies {
		b = appendLengths(b, m.Answers, func(a *replica.ForwardedAnswer) int { return len(a.Result.Body) })
	}
	return b
}

// hasBodies reports whether any answer has a body.
func hasBodies(answers []replica.ForwardedAnswer) bool {
	for i := range answers {
		if answers[i].Result.Body != "" {
			return true
		}
	}
	return false
}

func appendLengths[T any](b []byte, list []T, length func(*T) int) []byte {
	if list == nil {
		return codec.AppendNil(b)
	}
	b = codec.AppendArray(b, len(list))
	for i := range list {
		b = codec.AppendUint(b, uint64(length(&list[i])))
	}
	return b
}

func appendHeartbeat(b []byte, v *replica.Heartbeat) []byte {
	fields := 5
	switch {
	case v.Silent != 0:
		fields = 11
	case len(v.Digests) > 0:
		fields = 10
	case v.Level != 0:
		fields = 8
	case v.Excluding != 0:
		fields = 7
	case v.Membership != 0:
		fields = 6
	}
	b = codec.AppendArray(b, fields)
	b = codec.AppendBool(b, v.Master)
	b = codec.AppendUint(b, v.Epoch)
	b = codec.AppendUint(b, v.Applied)
	b = codec.AppendInt(b, int64(v.LeaseLeft))
	b = codec.AppendUint(b, uint64(v.Space))
	if fields > 5 {
		b = codec.AppendUint(b, v.Membership)
	}
	if fields > 6 {
		b = codec.AppendInt(b, int64(v.Excluding))
	}
	if fields > 7 {
		b = codec.AppendUint(b, v.Level)
	}
	if fields > 8 {
		b = codec.AppendUint(b, v.DigestFormat)
		b = appendDigests(b, v.Digests)
	}
	if fields > 10 {
		b = codec.AppendInt(b, int64(v.Silent))
	}
	return b
}

func appendDigests(b []byte, list []replica.Digest) []byte {
	if list == nil {
		return codec.AppendNil(b)
	}
	b = codec.AppendArray(b, len(list))
	for _, d := range list {
		b = codec.AppendArray(b, 2)
		b = codec.AppendUint(b, d.Slot)
		b = codec.AppendUint(b, d.Sum)
	}
	return b
}

// readDigests reads the digests of a heartbeat, and passes over those beyond MaxDigests.
func readDigests(r *codec.Reader) []replica.Digest {
	n := r.Array()
	if n == 0 {
		return nil
	}
	list := make([]replica.Digest, 0, min(n, replica.MaxDigests))
	for i := 0; i < n && !r.Failed(); i++ {
		x := r.Struct()
		d := replica.Digest{Slot: x.Uint(), Sum: x.Uint()}
		x.End()
		if len(list) < replica.MaxDigests {
			list = append(list, d)
		}
	}
	return list
}

func appendWrites(b []byte, writes []replica.Write) []byte {
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
		b = codec.AppendInt(b, int64(w.Wait))
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

func appendSnapshot(b []byte, s *snapshots.Message) []byte {
	b = codec.AppendArray(b, 8)
	for _, n := range [...]uint64{s.ID, s.Above, s.Pieces, uint64(s.Refused)} {
		b = codec.AppendUint(b, n)
	}
	for _, p := range [...][]byte{s.After, s.Next, s.Header, s.Piece} {
		if p == nil {
			b = codec.AppendNil(b)
		} else {
			b = codec.AppendBytes(b, p)
		}
	}
	return b
}

// readSnapshot reads a message about a snapshot. Its bytes are those of the header.
func readSnapshot(s *codec.Fields) *snapshots.Message {
	p := &snapshots.Message{ID: s.Uint(), Above: s.Uint(), Pieces: s.Uint(),
		Refused: snapshots.Refusal(s.Small(math.MaxUint8))}
	p.After, p.Next, p.Header, p.Piece = s.Bytes(), s.Bytes(), s.Bytes(), s.Bytes()
	s.End()
	return p
}

func decodeReplica(body []byte, m *replica.Message) error {
	header, values, err := cutHeader(body)
	if err != nil {
		return err
	}
	return readReplica(header, values, m)
}

// readReplica reads a header into m, and sets the values of its writes and answers.
func readReplica(header, values []byte, m *replica.Message) error {
	r := valueReader{Reader: codec.NewReader(header), values: values}
	h := r.Struct()
	f := h.Struct()
	m.Kind = replica.MessageKind(f.Small(math.MaxUint8))
	f.Skip() // From
	f.Skip() // To
	v := f.Struct()
	m.Heartbeat = replica.Heartbeat{Master: v.Bool(), Epoch: v.Uint(), Applied: v.Uint(),
		LeaseLeft: time.Duration(v.Int()), Space: replica.Space(v.Small(math.MaxUint8)),
		Membership: v.Uint(), Excluding: max(0, time.Duration(v.Int())), Level: v.Uint()}
	if v.More() {
		m.Heartbeat.DigestFormat = v.Uint()
		if v.Next() {
			m.Heartbeat.Digests = readDigests(&r.Reader)
		}
		m.Heartbeat.Silent = max(0, time.Duration(v.Int()))
	}
	v.End()
	if f.Next() {
		readWrites(&r.Reader, len(header), m)
	}
	if f.Next() {
		readAnswers(&r.Reader, len(header), m)
	}
	p := f.Struct()
	m.Read = replica.ReadPoint{ID: p.Uint(), Consistent: p.Bool(), Granted: p.Bool(), Slot: p.Uint()}
	p.End()
	if s := f.Struct(); s.More() {
		m.Snapshot = readSnapshot(&s)
	}
	f.End()
	r.each(r.lengths(&h), len(m.Writes), func(i int, v []byte) { m.Writes[i].Command = v })
	if n := r.lengths(&h); n > 0 {
		// Copied: an answer must not keep its frame alive, and other bodies with it.
		r.each(n, len(m.Answers), func(i int, v []byte) { m.Answers[i].Result.Body = string(v) })
	}
	return r.end(&h)
}

func readWrites(r *codec.Reader, headerBytes int, m *replica.Message) {
	n := r.Array()
	if n == 0 {
		return
	}
	m.Writes = make([]replica.Write, 0, min(n, headerBytes/leastWrite+1))
	for i := 0; i < n && !r.Failed(); i++ {
		w := r.Struct()
		x := replica.Write{ID: w.Uint()}
		w.Skip() // Command
		x.Frees, x.Wait = w.Bool(), time.Duration(w.Int())
		w.End()
		m.Writes = append(m.Writes, x)
	}
}

func readAnswers(r *codec.Reader, headerBytes int, m *replica.Message) {
	n := r.Array()
	if n == 0 {
		return
	}
	m.Answers = make([]replica.ForwardedAnswer, 0, min(n, headerBytes/leastWrite+1))
	for i := 0; i < n && !r.Failed(); i++ {
		a := r.Struct()
		x := replica.ForwardedAnswer{ID: a.Uint(), Outcome: replica.Outcome(a.Small(math.MaxUint8)),
			Reason: replica.Reason(a.Small(math.MaxUint8))}
		res := a.Struct()
		x.Result = kv.Result{Code: kv.Code(res.Small(math.MaxUint8)), Revision: res.Uint(), Count: res.Uint()}
		res.Skip() // Body
		x.Result.Dropped = res.Bool()
		res.End()
		a.End()
		m.Answers = append(m.Answers, x)
	}
}
