package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/internal/quorum"
)

func goodAccept() Message {
	i := ballot.Incarnation{Restart: 1, Node: 2, Nonce: 3}
	return Message{
		Kind: KindAccept, From: 2, To: 1, Resource: MasterResource, Class: ClassMaster,
		Ballot: ballot.New(4, i), Owner: i, Duration: time.Second,
	}
}

func TestMessageCheck(t *testing.T) {
	if err := goodAccept().Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Message){
		"no kind":          func(m *Message) { m.Kind = 0 },
		"unknown kind":     func(m *Message) { m.Kind = KindRelease + 1 },
		"from nobody":      func(m *Message) { m.From = 0 },
		"to nobody":        func(m *Message) { m.To = ballot.MaxNodeID + 1 },
		"no resource":      func(m *Message) { m.Resource = "" },
		"a user's":         func(m *Message) { m.Resource, m.Class = "job", 2 },
		"master as user":   func(m *Message) { m.Class = 2 },
		"user as master":   func(m *Message) { m.Resource = "job" },
		"no class":         func(m *Message) { m.Class = 0 },
		"no ballot":        func(m *Message) { m.Ballot = ballot.Ballot{} },
		"last ballot":      func(m *Message) { m.Ballot.Counter = MaxCounter },
		"last promise":     func(m *Message) { m.Promised.Counter = MaxCounter },
		"no owner":         func(m *Message) { m.Owner = ballot.Incarnation{} },
		"no owner to free": func(m *Message) { m.Kind, m.Owner = KindRelease, ballot.Incarnation{} },
		"no duration":      func(m *Message) { m.Duration = 0 },
		"live, no owner":   func(m *Message) { m.Kind, m.Live, m.LiveBallot = KindPromise, true, m.Ballot },
		"live, no ballot":  func(m *Message) { m.Kind, m.Live, m.LiveOwner = KindPromise, true, m.Owner },
	} {
		m := goodAccept()
		change(&m)
		if err := m.Check(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMessageTravels(t *testing.T) {
	in := goodAccept()
	in.Promised, in.Live, in.LiveOwner, in.LiveBallot, in.LiveLeft = in.Ballot, true, in.Owner, in.Ballot, -time.Second
	var out Message
	if err := codec.Unmarshal(codec.Marshal(&in), &out); err != nil || in != out {
		t.Fatalf("%v, %v", out, err)
	}
}

func TestMessageString(t *testing.T) {
	m := goodAccept()
	m.Live, m.LiveOwner, m.LiveBallot, m.LiveLeft = true, m.Owner, m.Ballot, ms
	for _, k := range []Kind{KindPrepare, KindPromise, KindPrepareRejected, KindAccept, KindAccepted, KindAcceptRejected,
		KindRelease, 99} {
		m.Kind = k
		if s := m.String(); !strings.HasPrefix(s, k.String()+" 2→1 master 4@2.1:00000003") ||
			!strings.HasSuffix(s, "1ms left") {
			t.Error(s)
		}
	}
}

// No bytes make an acceptor or a proposer panic, or give a proposer a lease that it did not ask for.
func FuzzHandle(f *testing.F) {
	m := goodAccept()
	for k := KindPrepare; k <= KindRelease; k++ {
		m.Kind = k
		f.Add(codec.Marshal(&m), int64(0))
		f.Add(codec.Marshal(&m), int64(1)<<60)
	}
	f.Fuzz(func(t *testing.T, data []byte, now int64) {
		var m Message
		if codec.Unmarshal(data, &m) != nil || now < 0 || now > int64(maxSpan) {
			return
		}
		_ = m.String()
		a := must(NewAcceptor(AcceptorConfig{Self: 1, Timing: tiny}))
		pr := must(NewProposer(ProposerConfig{
			Self:     ballot.Incarnation{Restart: 1, Node: 1},
			Duration: ms, Voters: quorum.Of(1, 2, 3), Timing: tiny,
		}))
		pr.Start(time.Duration(now))
		for range 2 {
			if reply, ok := a.Handle(time.Duration(now), m); ok && reply.Check() != nil {
				t.Fatalf("%v answered by %v", m, reply)
			}
			pr.Handle(time.Duration(now), m)
			m.Ballot, m.To = pr.attempt.ballot, 1
		}
		pr.Start(time.Duration(now))
		if _, held := pr.Held(time.Duration(now)); held {
			t.Fatalf("after %v: held", m)
		}
	})
}
