package wire

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/replica/leases"
)

// fuzzBodies fuzzes a decoder. For any bytes the decoder stays within the allocations of doc.go. It returns an error of
// this package, or a message that survives encode and decode unchanged. The seeds are bodies of valid messages.
func fuzzBodies[M any](f *testing.F, seeds [][]byte, decode func([]byte) (M, error), encode func(M) []byte) {
	for _, b := range seeds {
		f.Add(b)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		var m M
		var err error
		if got, most := allocated(func() { m, err = decode(body) }), uint64(64<<10+64*len(body)); got > most {
			t.Fatalf("%d bytes allocated for a body of %d", got, len(body))
		}
		if err != nil {
			var v *VersionError
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnknownType) && !errors.Is(err, ErrHandshake) &&
				!errors.As(err, &v) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		again, err := decode(encode(m))
		if err != nil {
			t.Fatalf("%+v cannot be decoded again: %v", m, err)
		}
		if d := cmp.Diff(m, again, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// bodiesOf returns the bodies of the messages that are also compared with testdata.
func bodiesOf(all []golden) (out [][]byte) {
	for _, g := range all {
		out = append(out, g.body)
	}
	return out
}

func FuzzLease(f *testing.F) {
	fuzzBodies(f, bodiesOf(goldenLease()), DecodeLease, func(b LeaseBody) []byte {
		switch {
		case b.Message != nil:
			return EncodeLease(b.Message)
		case b.Nudge != nil:
			return EncodeNudge(*b.Nudge)
		case b.Clock != nil:
			return EncodeClock(*b.Clock)
		}
		return EncodeHealth(b.Health)
	})
}

func FuzzLog(f *testing.F) {
	fuzzBodies(f, bodiesOf(goldenLog()), func(body []byte) (*multipaxos.Message, error) {
		b, err := DecodeLog(body, 2, 1)
		if err == nil && b.Log == nil {
			err = ErrUnknownType // of FuzzReplica
		}
		return b.Log, err
	}, EncodeLog)
}

func FuzzReplica(f *testing.F) {
	fuzzBodies(f, bodiesOf(goldenReplica()), func(body []byte) (LogBody, error) {
		b, err := DecodeLog(body, 2, 1)
		if err == nil && b.Log != nil {
			err = ErrUnknownType // of FuzzLog
		}
		return b, err
	}, func(b LogBody) []byte {
		switch {
		case b.Replica != nil:
			return EncodeReplica(b.Replica)
		case b.Question != nil:
			return EncodeQuestion(b.Question)
		case b.Answer != nil:
			return EncodeAnswer(b.Answer)
		}
		return EncodeArchived(b.Archived)
	})
}

// FuzzQuestionBody fuzzes the bodies of questions and answers. The first byte says of which type a body is.
func FuzzQuestionBody(f *testing.F) {
	types := []func() any{func() any { return new(struct{}) }, func() any { return new(Transfer) },
		func() any { return new(members.Request) }, func() any { return new(MembersAnswer) },
		func() any { return new(Drain) }, func() any { return new(DrainTold) },
		func() any { return new(Report) }}
	type typed struct {
		Of byte
		V  any
	}
	fuzzBodies(f, [][]byte{{0, 0x90}, append([]byte{1}, EncodeBody(&Transfer{To: 3})...),
		append([]byte{2}, EncodeBody(someRequest())...), append([]byte{3}, EncodeBody(someMembersAnswer())...),
		append([]byte{4}, EncodeBody(&Drain{Off: true})...), append([]byte{5}, EncodeBody(&DrainTold{State: DrainOn})...),
		append([]byte{6}, EncodeBody(someReport())...),
	}, func(body []byte) (typed, error) {
		if len(body) == 0 || int(body[0]) >= len(types) {
			return typed{}, ErrUnknownType
		}
		v := types[body[0]]()
		return typed{body[0], v}, DecodeBody(body[1:], v)
	}, func(x typed) []byte { return append([]byte{x.Of}, EncodeBody(x.V)...) })
}

// FuzzNamed leaves out batches with times that are negative: as no node sends them they are written as zero.
func FuzzNamed(f *testing.F) {
	fuzzBodies(f, bodiesOf(goldenNamed()), func(body []byte) (*leases.Batch, error) {
		b, err := DecodeNamed(body)
		if err == nil {
			for i := range b.Replies {
				if b.Replies[i].Left < 0 || b.Replies[i].LiveLeft < 0 {
					return nil, ErrMalformed
				}
			}
		}
		return b, err
	}, func(b *leases.Batch) []byte {
		c := *b
		return EncodeNamed(&c)
	})
}

func FuzzKeepalive(f *testing.F) {
	marks := &Marks{Promised: goldenBallot, Accepted: 9}
	fuzzBodies(f, [][]byte{AppendKeepalive(nil, nil), AppendKeepalive(nil, marks)}, DecodeKeepalive,
		func(m *Marks) []byte { return AppendKeepalive(nil, m) })
}

func FuzzHandshake(f *testing.F) {
	var seeds [][]byte
	for _, m := range handshakeSamples() {
		seeds = append(seeds, EncodeHandshake(m))
	}
	fuzzBodies(f, append(seeds, []byte(magic)), func(body []byte) (HandshakeMsg, error) {
		m, err := DecodeHandshake(body)
		switch m := m.(type) { // what every caller does with them must not panic either
		case *FoundMsg:
			m.Membership.Voters()
		case *AnswerMsg:
			m.Membership.Voters()
		case *JoinedMsg:
			m.Membership.Voters()
		}
		return m, err
	}, EncodeHandshake)
}

// TestDeclaredLengthsAllocateNothing gives decoders small bodies that declare long lists.
func TestDeclaredLengthsAllocateNothing(t *testing.T) {
	long := []byte{0xdd, 0x7f, 0xff, 0xff, 0xff} // an array of 2³¹-1
	header := func(kind byte, fields ...byte) []byte {
		b := append(beginHeader(nil, kind), fields...)
		endHeader(b)
		return b
	}
	zeros := make([]byte, 1<<16)
	for name, body := range map[string][]byte{
		"lease": append([]byte{typeLease}, long...),
		"log": header(typeLog, append([]byte{0x92, 0x9e, 1, 0, 0, 0xc0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0xc2},
			long...)...),
		"log, zeros": header(typeLog, append([]byte{0x92, 0x9e, 1, 0, 0, 0xc0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0xc2,
			0xdd, 0, 0, 0xff, 0xff}, zeros...)...),
		"replica": header(typeReplica, append([]byte{0x92, 0x97, 1, 0, 0, 0xc0}, long...)...),
		"replica, zeros": header(typeReplica, append([]byte{0x92, 0x97, 1, 0, 0, 0xc0, 0xdd, 0, 0, 0xff, 0xff},
			zeros...)...),
		"named, text": append([]byte{typeNamed, 0, 0, 0, byte(named.Accept)},
			append(make([]byte, 35), 0xff, 0xff, 0xff, 0x7f)...),
		"keepalive": append([]byte{typeKeepalive}, long...),
		"ask":       append([]byte(magic+"\x04\x00\x04\x94\x01\x02\xc0"), long...),
		"release":   append([]byte(magic+"\x08\x00\x04\x92\x01\x94\xc0\xc0\xc0"), long...),
		"found, nils": append([]byte(magic+"\x06\x00\x04\x92\xc4\x01\x01\x92\x01\xdc\x3f\xe0"),
			bytes.Repeat([]byte{0xc0}, 0x3fe0)...),
		"join": append([]byte(magic+"\x09\x00\x04\x9a\xdb"), long[1:]...),
		"joined, nils": append([]byte(magic+"\x0a\x00\x04\x93\x01\xc4\x01\x01\x95\x01\xc0\x01\xdc\x3f\xe0"),
			bytes.Repeat([]byte{0xc0}, 0x3fe0)...),
		"question":         {typeQuestion, 0x94, 1, 1, 0, 0xc6, 0x7f, 0xff, 0xff, 0xff},
		"answer":           {typeAnswered, 0x96, 1, 1, 0, 0xdb, 0x7f, 0xff, 0xff, 0xff},
		"header too large": {typeLog, 0x7f, 0xff, 0xff, 0xff, 0},
	} {
		var errs []error
		got := allocated(func() {
			_, lease := DecodeLease(body)
			_, log := DecodeLog(body, 2, 1)
			_, batch := DecodeNamed(body)
			_, alive := DecodeKeepalive(body)
			_, shake := DecodeHandshake(body)
			errs = []error{lease, log, batch, alive, shake}
		})
		for _, err := range errs {
			if err == nil {
				t.Errorf("%s: decoded", name)
			}
		}
		if most := uint64(64<<10 + 64*len(body)); got > most {
			t.Errorf("%s: %d bytes allocated for a body of %d", name, got, len(body))
		}
	}
}

// TestLeaseRoundTrip: every field of a lease message travels.
func TestLeaseRoundTrip(t *testing.T) {
	run := ballot.Incarnation{Restart: 3, Node: 2, Nonce: 1 << 63}
	want := LeaseBody{Message: &lease.Message{Kind: lease.KindPromise, From: 1, To: 2, Resource: lease.MasterResource,
		Class:  lease.ClassMaster,
		Ballot: ballot.New(4, run), Owner: run, Duration: time.Second, Promised: ballot.New(5, run), Live: true,
		LiveOwner:  run,
		LiveBallot: ballot.New(6, run), LiveLeft: -time.Millisecond}}
	got, err := DecodeLease(EncodeLease(want.Message))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestQuestionsAndAnswersAreBounded: a body above its bound is malformed, whatever it says.
func TestQuestionsAndAnswersAreBounded(t *testing.T) {
	for _, x := range []struct {
		what   string
		most   int
		encode func(n int) []byte
	}{
		{"question", MaxQuestionBytes, func(n int) []byte { return EncodeQuestion(&Question{Body: make([]byte, n)}) }},
		{"answer", MaxAnswerBytes, func(n int) []byte { return EncodeAnswer(&Answer{Body: make([]byte, n)}) }},
	} {
		fits := x.most - len(x.encode(x.most)) + x.most
		if _, err := DecodeLog(x.encode(fits), 1, 2); err != nil {
			t.Errorf("%s of %d bytes: %v", x.what, x.most, err)
		}
		if _, err := DecodeLog(x.encode(fits+1), 1, 2); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s of %d bytes: %v", x.what, x.most+1, err)
		}
	}
}
