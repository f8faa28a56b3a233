package lease

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// P7: the ballot of each Accept is noted before it leaves, stays noted, answered or not, for as long as its record may
// live, and is forgotten then or when it was released. A guardian speaks for them once the process is dead, and not
// before.
func TestP7CrashRelease(t *testing.T) {
	w := newWorld(t)
	var n Notes
	noted := func() []uint64 { return n.AppendCounters(nil, w.now) }
	note := func(ms []Message) []Message { n.Sent(w.now, tiny, ms); return ms }
	start := func(counter uint64) {
		w.proposers[p].ContinueAbove(ballot.Ballot{Counter: counter - 1})
		w.sent = append(w.sent, note(w.proposers[p].StartFor(w.now, 2*ms))...)
	}
	promised := func(counter uint64) {
		before := len(w.sent)
		w.deliver(KindPrepare, p, counter, 1, 2)
		note(w.sent[before:])
	}
	start(1)
	if got := noted(); len(got) != 0 {
		t.Fatalf("a Prepare is noted: %v", got)
	}
	promised(1)
	if got := noted(); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("Accept is out, noted are %v", got)
	}
	w.deliver(KindAccept, p, 1, 1, 2)
	w.tick()
	start(2)
	promised(2)
	if got := noted(); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("a renewal's Accept is out while the lease is held, noted are %v", got)
	}
	w.tick()
	if got := noted(); !slices.Equal(got, []uint64{2}) {
		t.Fatalf("D_A after the Accept of 1, noted are %v", got)
	}
	owner := w.proposers[p].cfg.Self
	counters := noted()
	note(w.proposers[p].Release(w.now))
	if got := noted(); len(got) != 0 {
		t.Fatalf("released, noted are %v", got)
	}
	for i, m := range CrashReleases(owner, 3, counters) {
		if m.Check() != nil || m.Kind != KindRelease || m.From != p || m.To != 3 || m.Owner != owner ||
			m.Ballot != ballot.New(counters[i], owner) {
			t.Errorf("a guardian sends %v", m)
		}
	}
}

// P7: nothing but the news of the death makes a guardian speak; then it does so at once, and a few times more.
func TestP7OnlyTheDeathCounts(t *testing.T) {
	var g Guardian
	if _, more := g.Next(); more || g.Due(1000*time.Hour) {
		t.Fatal("it speaks for a process that it does not know to be dead")
	}
	g.Died(5 * time.Second)
	g.Died(6 * time.Second) // said twice
	if !g.Due(5 * time.Second) {
		t.Fatal("it does not speak at once")
	}
	n := 0
	for at, more := g.Next(); more; at, more = g.Next() {
		if g.Due(at-1) || !g.Due(at) || at > 5*time.Second+CrashReleaseFor {
			t.Fatalf("round %d at %v", n, at)
		}
		g.Sent()
		n++
	}
	if n < 3 || g.Due(time.Hour) {
		t.Fatalf("%d rounds, and more is due: %v", n, g.Due(time.Hour))
	}
}

// A crash release clears exactly the records of the dead incarnation's noted ballots; an Accept that comes later is
// cleared by the next round; the next incarnation's records stay.
func TestP7ReleasesWhatTheDeadLeft(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	dead := w.proposers[p].cfg.Self
	w.restartProposer(p, 1)
	round := func() {
		for id, a := range w.acceptors {
			for _, m := range CrashReleases(dead, id, []uint64{1, 7}) {
				a.Handle(w.now, m)
			}
		}
	}
	round()
	for id := ballot.NodeID(1); id <= 3; id++ {
		if r, live := w.live(id); live {
			t.Fatalf("acceptor %d still has %v", id, r)
		}
	}
	w.deliver(KindAccept, p, 1, 3) // the dead one's, late
	if _, live := w.live(3); !live {
		t.Fatal("the late Accept was refused")
	}
	round()
	w.win(p, 2, 2*ms, 1, 2, 3)
	round()
	if r, live := w.live(3); !live || r.Owner == dead || !w.owns(p) {
		t.Fatalf("the next run's record is %v, %v", r, live)
	}
}

// The list is bounded, what can matter least goes first, and copies are independent.
func TestNotesAreBounded(t *testing.T) {
	self := ballot.Incarnation{Restart: 1, Node: p, Nonce: 5}
	accept := func(c uint64) []Message {
		return []Message{{Kind: KindAccept, Resource: MasterResource, Class: ClassMaster, Ballot: ballot.New(c, self),
			Owner: self, Duration: ms}}
	}
	var n Notes
	for c := range uint64(MaxNotes + 3) {
		n.Sent(0, tiny, accept(c+1))
	}
	old := n
	n.Sent(0, tiny, accept(4)) // resent: no second note
	got := n.AppendCounters(nil, 0)
	if len(got) != MaxNotes || got[0] != 4 || got[MaxNotes-1] != MaxNotes+3 || !slices.IsSorted(got) {
		t.Fatalf("%d noted: %v", len(got), got)
	}
	n.Sent(ms, tiny, accept(100))
	if got := n.AppendCounters(nil, ms); !slices.Equal(got, []uint64{100}) {
		t.Errorf("what has run out is kept: %v", got)
	}
	if got := old.AppendCounters(nil, 0); len(got) != MaxNotes || got[0] != 4 {
		t.Errorf("the copy has changed: %v", got)
	}
}

// The list is large enough for renewals in peace, and for an unlucky candidate.
func TestNotesSuffice(t *testing.T) {
	timing := Timing{MaxMaster: 500 * ms, MaxUser: time.Second, DriftPPM: 10_000, Margin: 10 * ms}
	pr := must(NewProposer(ProposerConfig{Self: ballot.Incarnation{Node: 1}, Duration: 500 * ms, Voters: quorum.Of(1),
		Timing: timing}))
	ac := must(NewAcceptor(AcceptorConfig{Self: 1, Timing: timing}))
	var n Notes
	most := 0
	for now := time.Second; now < 10*time.Second; now += 500 * ms / 32 { // an attempt at each shortest wait
		for _, m := range pr.Start(now) {
			r, _ := ac.Handle(now, m)
			out := pr.Handle(now, r)
			n.Sent(now, timing, out)
		}
		most = max(most, len(n.AppendCounters(nil, now)))
	}
	if most < 20 || most >= MaxNotes {
		t.Errorf("up to %d noted at a time, space for %d", most, MaxNotes)
	}
}
