package multipaxos

import (
	"testing"

	"tenure/internal/ballot"
)

// solo is one Core, and the test is its whole world. It is node 1 unless said otherwise.
type solo struct {
	*Core
	t    *testing.T
	disk *disk
	wait []Persist
}

func soloConfig() Config {
	cfg := Config{PageBytes: 1 << 10, WindowEntries: 8, WindowBytes: 1 << 12, CacheBytes: 1 << 16}
	cfg.Self = ballot.Incarnation{Restart: 1, Node: 1, Nonce: 9}
	return cfg
}

// base is the membership 1 of nodes 1 to n.
func base(n int) Membership {
	m := Membership{Number: 1}
	for i := range n {
		m.Voters.Add(ballot.NodeID(i + 1))
	}
	return m
}

func newSolo(t *testing.T, cfg Config, m Membership, d *disk) *solo {
	t.Helper()
	c, err := New(cfg, m, d.durable(), d)
	if err != nil {
		t.Fatal(err)
	}
	return &solo{Core: c, t: t, disk: d}
}

func follower(t *testing.T) *solo { return newSolo(t, soloConfig(), base(3), newDisk()) }

// leading is node 1 of n, leading with an empty log, its own promise durable.
func leading(t *testing.T, n int) *solo {
	t.Helper()
	return leadingWith(t, soloConfig(), n)
}

func leadingWith(t *testing.T, cfg Config, n int) *solo {
	t.Helper()
	s := newSolo(t, cfg, base(n), newDisk())
	s.lead()
	return s
}

// lead takes s through Phase 1 with empty promises of a quorum.
func (s *solo) lead() {
	s.t.Helper()
	s.Lead()
	s.sync()
	for i := 1; s.Phase() == Preparing && i < s.Membership().Voters.Len(); i++ {
		s.step(Message{Kind: KindPromise, From: s.Membership().Voters.At(i), Ballot: s.Ballot(), Slot: s.Chosen() + 1,
			Last: true})
	}
	if s.Phase() != Leading {
		s.t.Fatalf("not leading but %v", s.Phase())
	}
	s.sync()
}

func (s *solo) behind() bool { return behind(s.Core) }

// step hands over m, addressed to s, and tells what s sends.
func (s *solo) step(m Message) []Message {
	s.t.Helper()
	m.To = s.cfg.Self.Node
	if err := s.Step(m); err != nil {
		s.t.Fatal(err)
	}
	return s.take()
}

// take drains s without the disk.
func (s *solo) take() []Message {
	out := s.Take()
	s.wait = append(s.wait, out.Persists...)
	return out.Messages
}

// sync makes everything durable and tells what s sends then.
func (s *solo) sync() []Message {
	s.t.Helper()
	sent := s.take()
	for len(s.wait) > 0 {
		p := s.wait[0]
		s.wait = s.wait[1:]
		s.disk.apply(p)
		s.Persisted(p.Seq)
		sent = append(sent, s.take()...)
	}
	return sent
}

func (s *solo) ticks(n int) (sent []Message) {
	s.t.Helper()
	for range n {
		if err := s.Tick(); err != nil {
			s.t.Fatal(err)
		}
		sent = append(sent, s.take()...)
	}
	return sent
}

func (s *solo) propose(values ...string) {
	s.t.Helper()
	for _, v := range values {
		if _, ok := s.Propose([]byte(v)); !ok {
			s.t.Fatalf("may not propose %q", v)
		}
	}
}

// accepted is a vote of another node for s.
func (s *solo) accepted(from ballot.NodeID, first, last Slot) []Message {
	s.t.Helper()
	return s.step(Message{Kind: KindAccepted, From: from, Ballot: s.Ballot(), Slot: first, Through: last})
}

// by is the ballot with this counter of a node.
func by(node ballot.NodeID, counter uint64) ballot.Ballot {
	return ballot.New(counter, ballot.Incarnation{Restart: 1, Node: node, Nonce: 9})
}

// entries are values in a row from slot first, all under b.
func entries(b ballot.Ballot, first Slot, values ...string) []Entry {
	var es []Entry
	for i, v := range values {
		es = append(es, Entry{Slot: first + Slot(i), Ballot: b, Value: []byte(v)})
	}
	return es
}

func accept(b ballot.Ballot, chosen, first Slot, values ...string) Message {
	return Message{Kind: KindAccept, From: b.Node, Ballot: b, Chosen: chosen, Entries: entries(b, first, values...)}
}

func prepare(b ballot.Ballot, from Slot) Message {
	return Message{Kind: KindPrepare, From: b.Node, Ballot: b, Slot: from}
}

// only filters messages by kind.
func only(ms []Message, k Kind) (out []Message) {
	for _, m := range ms {
		if m.Kind == k {
			out = append(out, m)
		}
	}
	return out
}

// one is the single message of a kind.
func (s *solo) one(ms []Message, k Kind) Message {
	s.t.Helper()
	found := only(ms, k)
	if len(found) != 1 {
		s.t.Fatalf("%d messages of kind %d where one was to be: %+v", len(found), k, ms)
	}
	return found[0]
}

func (s *solo) none(ms []Message, k Kind, why string) {
	s.t.Helper()
	if found := only(ms, k); len(found) > 0 {
		s.t.Fatalf("%s: %+v", why, found)
	}
}

// values is the log in memory and on disk from slot 1, "-" for no entry and "" for a no-op.
func (s *solo) values() (out []string) {
	s.t.Helper()
	es, err := s.acceptor.log.read(1, s.acceptor.log.last(), 1<<20)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range es {
		for Slot(len(out)) < e.Slot-1 {
			out = append(out, "-")
		}
		out = append(out, string(e.Value))
	}
	return out
}

func (s *solo) wantChosen(want Slot, why string) {
	s.t.Helper()
	if s.Chosen() != want {
		s.t.Fatalf("%s: chosen through %d, want %d", why, s.Chosen(), want)
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Fatalf("%s did not panic", what)
		}
	}()
	f()
}
