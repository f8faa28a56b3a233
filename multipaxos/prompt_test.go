package multipaxos

import (
	"slices"
	"strings"
	"testing"

	"tenure/internal/quorum"
)

// promptly is a leader of three that sends node 2 everything at once. Node 3 may wait.
func promptly(t *testing.T, cfg Config) *solo {
	t.Helper()
	s := leadingWith(t, cfg, 3)
	s.SetPrompt(quorum.Of(2))
	return s
}

// choose proposes values, and has node 2 and the own disk accept them.
func (s *solo) choose(values ...string) (sent []Message) {
	s.t.Helper()
	first := s.Last() + 1
	s.propose(values...)
	sent = s.sync()
	sent = append(sent, s.accepted(2, first, s.Last())...)
	s.wantChosen(s.Last(), "node 2 and the own disk")
	s.Applied(s.Last())
	return sent
}

// Any quorum decides. The others are sent what has gathered, in one message, and are not told of it before: they would
// ask for it.
func TestAQuorumAtOnceTheOthersSoon(t *testing.T) {
	s := promptly(t, soloConfig())
	sent := append(s.choose("a"), s.choose("b")...)
	if got := slotsOf(sent, 2); !slices.Equal(got, []Slot{1, 2}) {
		t.Fatalf("node 2 was sent slots %v", got)
	}
	for _, m := range sent {
		if m.To == 3 {
			t.Fatalf("node 3 was sent %+v", m)
		}
	}
	var to3 []Message
	for _, m := range s.ticks(1) {
		if m.To == 3 {
			to3 = append(to3, m)
		}
	}
	if m := s.one(to3, KindAccept); len(to3) != 1 || len(m.Entries) != 2 || m.Entries[0].Slot != 1 || m.Chosen != 2 {
		t.Fatalf("node 3 was sent %+v", to3)
	}
	s.accepted(3, 1, 2)
	s.none(s.ticks(1), KindAccept, "everything was sent")
}

// What ends the wait of the others, each by itself.
func TestWhatIsNotHeldBack(t *testing.T) {
	cfg := memberConfig()
	cfg.WindowBytes = 1 << 20
	for _, c := range []struct {
		name string
		does func(*solo)
	}{
		{"Hurry", func(s *solo) { s.Hurry() }},
		{"much has gathered", func(s *solo) { s.propose(strings.Repeat("x", maxHeld)) }},
		{"nobody is named", func(s *solo) { s.SetPrompt(quorum.Set{}) }},
		{"all are named", func(s *solo) { s.SetPrompt(quorum.Of(2, 3)) }},
		{"a new connection", func(s *solo) { s.Connected(3) }},
		{"a read there", func(s *solo) { s.Advertise(3) }},
	} {
		s := promptly(t, cfg)
		s.propose("a")
		if got := slotsOf(s.take(), 3); len(got) != 0 {
			t.Fatalf("%s: node 3 was sent slots %v before", c.name, got)
		}
		c.does(s)
		if got := slotsOf(s.take(), 3); len(got) == 0 || got[0] != 1 {
			t.Errorf("%s: node 3 was sent slots %v", c.name, got)
		}
	}

	s := promptly(t, cfg)
	s.change(change(2, 1, 2, 3, 4))
	if got := slotsOf(s.take(), 3); !slices.Equal(got, []Slot{1}) {
		t.Errorf("of a membership entry node 3 was sent slots %v", got)
	}
}

// A set of peers is of one attempt to lead.
func TestANewLeaderHoldsNothingBack(t *testing.T) {
	s := promptly(t, soloConfig())
	s.Retire()
	s.lead()
	s.propose("a")
	if got := slotsOf(s.take(), 3); len(got) == 0 {
		t.Fatal("node 3 waits")
	}
}

// The others are sent slots that were chosen meanwhile too, as long as memory has them, and then none of them: a page
// for each would have to be read from the disk.
func TestChosenSlotsAreSentFromMemory(t *testing.T) {
	s := promptly(t, soloConfig())
	s.choose("a")
	s.choose("b")
	s.propose("c")
	if got := slotsOf(s.ticks(1), 3); !slices.Equal(got, []Slot{1, 2, 3}) {
		t.Fatalf("node 3 was sent slots %v", got)
	}
	cfg := soloConfig()
	cfg.CacheBytes = 0
	s = promptly(t, cfg)
	s.choose("a")
	s.choose("b")
	s.propose("c")
	if got := slotsOf(s.ticks(1), 3); !slices.Equal(got, []Slot{3}) {
		t.Fatalf("with nothing chosen in memory, node 3 was sent slots %v", got)
	}
}
