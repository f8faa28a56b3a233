package lease

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

func goodProposer() ProposerConfig {
	return ProposerConfig{
		Self:     ballot.Incarnation{Restart: 1, Node: 1, Nonce: 9},
		Duration: time.Second, Voters: quorum.Of(1, 2, 3),
		Timing: Timing{MaxMaster: time.Second, MaxUser: time.Minute, DriftPPM: 10_000, Margin: 10 * ms},
	}
}

func TestProposerConfigValidate(t *testing.T) {
	if _, err := NewProposer(goodProposer()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ProposerConfig){
		"no node":       func(c *ProposerConfig) { c.Self = ballot.Incarnation{} },
		"no voters":     func(c *ProposerConfig) { c.Voters = quorum.Set{} },
		"no duration":   func(c *ProposerConfig) { c.Duration = 0 },
		"longer than M": func(c *ProposerConfig) { c.Duration++ },
		"bad timing":    func(c *ProposerConfig) { c.Timing.DriftPPM = -1 },
	} {
		bad := goodProposer()
		change(&bad)
		if _, err := NewProposer(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestProposerOfOneNode(t *testing.T) {
	c := goodProposer()
	c.Voters = quorum.Of(1)
	pr := must(NewProposer(c))
	a := must(NewAcceptor(AcceptorConfig{Self: 1, Timing: c.Timing}))
	waiting := pr.Start(0)
	for steps := 0; len(waiting) > 0; steps++ {
		reply, _ := a.Handle(0, waiting[0])
		waiting = append(waiting[1:], pr.Handle(0, reply)...)
		if steps > 2 {
			t.Fatal("no end")
		}
	}
	if h, held := pr.Held(0); !held || h.Deadline != time.Second {
		t.Fatalf("%+v, %v", h, held)
	}
	if out := pr.Resend(0); len(out) != 0 || pr.attempt != (attempt{}) {
		t.Errorf("all have answered, but resent %v", out)
	}
}

func TestProposerStopsResendingAWonAttempt(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	if len(w.proposers[p].Resend(2*ms-1)) != 1 {
		t.Error("the third acceptor is left behind")
	}
	refusal := Message{Kind: KindAcceptRejected, From: 3, To: p, Resource: MasterResource, Class: ClassMaster,
		Ballot: w.find(KindAccept, p, 1, 3).Ballot}
	answered := w.proposers[p].Clone()
	answered.Handle(0, refusal)
	if len(answered.Resend(ms)) != 0 {
		t.Error("resent to an acceptor that has refused")
	}
	if _, held := answered.Held(ms); !held || answered.Attempt().Last.Reason != EndWon {
		t.Error("a refusal after the win took it back")
	}
	released := w.proposers[p].Clone()
	released.Release(ms)
	if len(released.Resend(ms)) != 0 {
		t.Error("resent after the release")
	}
	if out := w.proposers[p].Resend(2 * ms); len(out) != 0 || w.proposers[p].Attempt().Last.Reason != EndWon {
		t.Errorf("resent %v after the deadline", out)
	}
}

func TestProposerFirstAnswerStands(t *testing.T) {
	w := newWorld(t)
	w.win(q, 5, 2*ms, 1, 2)
	w.start(p, 9, 2*ms)
	promise, _ := w.acceptors[3].Handle(0, w.find(KindPrepare, p, 9, 3))
	w.proposers[p].Handle(0, promise)
	promise.Live, promise.LiveOwner, promise.LiveBallot = true, w.proposers[q].cfg.Self, ballot.Ballot{Counter: 1}
	w.proposers[p].Handle(0, promise)
	if a := w.proposers[p].attempt; a.votes != quorum.Of(3) || a.refused.Len() != 0 {
		t.Errorf("votes %v, refused %v", a.votes, a.refused)
	}
}

func TestReleaseListIsBounded(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	for c := uint64(2); c < 40; c++ {
		w.start(p, c, 2*ms)
		w.deliver(KindPrepare, p, c, 1, 2)
		w.proposers[p].Abandon()
	}
	out := w.proposers[p].Release(0)
	if len(out) != 3*maxUnreleased || out[0].Ballot.Counter != 1 || out[len(out)-1].Ballot.Counter != 39 {
		t.Errorf("%d messages, from %v to %v", len(out), out[0], out[len(out)-1])
	}
}

func TestReasonsAreTold(t *testing.T) {
	w := newWorld(t)
	last := func() string { return w.proposers[p].Attempt().Last.String() }
	told := []string{last()}
	w.start(p, 1, ms)
	w.proposers[p].Abandon()
	told = append(told, last())
	w.start(p, 2, ms)
	w.release(p)
	told = append(told, last())
	w.win(q, 5, 2*ms, 1, 2)
	w.start(p, 3, ms)
	w.deliver(KindPrepare, p, 3, 1, 2)
	told = append(told, last())
	w.start(p, 6, ms)
	w.deliver(KindPrepare, p, 6, 1, 2)
	told = append(told, last())
	want := []string{
		"none", "abandoned", "released", "rejected: 5@12.0:00000064 is promised",
		"blocked by 12.0:00000064 for about 2ms",
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("told %q, want %q", told[i], want[i])
		}
	}
}

func TestPace(t *testing.T) {
	pr := must(NewProposer(goodProposer()))
	if pr.RenewAt() != 0 {
		t.Error("nothing to renew yet")
	}
	pr.held.Deadline, pr.held.Duration = 10*time.Second, time.Second
	if at := pr.RenewAt(); at < 9300*ms || at > 9400*ms {
		t.Errorf("renew at %v", at)
	}
	// The renewal and two more tries, each after the longest wait, begin before the deadline.
	if longest := pr.RetryAfter(0, 1<<63-1); pr.RenewAt()+3*longest >= pr.held.Deadline {
		t.Errorf("waits of %v leave no space", longest)
	}
	seen := map[time.Duration]bool{}
	for r := range uint64(1000) {
		d := pr.RetryAfter(0, r*1_000_003)
		if d < time.Second/32 || d > time.Second/8 {
			t.Fatalf("wait %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("only %d different waits", len(seen))
	}
	if shortest, longest := pr.RetryAfter(0, 0), pr.RetryAfter(0,
		uint64(time.Second/8-time.Second/32)); shortest != time.Second/32 || longest != time.Second/8 {
		t.Errorf("waits from %v to %v", shortest, longest)
	}
	pr.last = End{Reason: EndBlocked, Blocker: Record{Left: 500 * ms}}
	if d := pr.RetryAfter(20*time.Second, 0); d != 500*ms+time.Second/32 {
		t.Errorf("blocked for 500ms, wait %v", d)
	}
	if d := pr.RetryAfter(0, 0); d != time.Second/32 {
		t.Errorf("blocked in a renewal, wait %v", d)
	}
	for _, left := range []time.Duration{-time.Hour, 1 << 62} {
		pr.last.Blocker.Left = left
		if d := pr.RetryAfter(20*time.Second, 0); d < 0 || d > 3*time.Second {
			t.Errorf("a hint of %v gives a wait of %v", left, d)
		}
	}
}
