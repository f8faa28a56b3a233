package lease

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
)

func (w *world) state(now time.Duration) string {
	var buf []byte
	for _, id := range []ballot.NodeID{p, q} {
		buf = w.proposers[id].AppendState(buf, now)
	}
	for id := ballot.NodeID(1); id <= 3; id++ {
		buf = w.acceptors[id].AppendState(buf, now)
	}
	return string(buf)
}

// The same schedule, begun at different readings of the clock, gives the same bytes at every step.
func TestStateIsRelativeToNow(t *testing.T) {
	play := func(begin time.Duration) []string {
		w := newWorld(t)
		w.now = begin
		for id := ballot.NodeID(1); id <= 3; id++ {
			w.restartAcceptor(id, ms)
		}
		out := []string{w.state(w.now)}
		step := func(f func()) { f(); out = append(out, w.state(w.now)) }
		step(w.tick)
		step(func() { w.start(p, 1, 2*ms) })
		step(func() { w.deliver(KindPrepare, p, 1, 1, 2) })
		step(func() { w.deliver(KindAccept, p, 1, 1, 2) })
		step(w.tick)
		step(func() { w.start(p, 2, 2*ms) })
		step(func() { w.deliver(KindPrepare, p, 2, 1, 2) })
		step(func() { w.release(p) })
		step(func() { w.deliver(KindRelease, p, 1, 1) })
		step(w.tick)
		return out
	}
	a, b := play(0), play(5*time.Hour)
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("step %d differs", i)
		}
		for j := range i {
			if a[i] == a[j] {
				t.Errorf("steps %d and %d look the same", i, j)
			}
		}
	}
}

// An expired lease looks like one that never existed.
func TestStateCheckpointsWhatIsOver(t *testing.T) {
	w, idle := newWorld(t), newWorld(t)
	w.win(p, 1, 2*ms, 1, 2, 3)
	w.proposers[p].unreleased = ballots{}
	idle.start(p, 1, 2*ms)
	idle.deliver(KindPrepare, p, 1, 1, 2, 3)
	idle.proposers[p].Abandon()
	idle.proposers[p].unreleased = ballots{}
	idle.restartAcceptor(3, 0)
	idle.deliver(KindPrepare, p, 1, 3)
	if w.state(0) == idle.state(0) {
		t.Error("a live lease does not show")
	}
	if w.state(2*ms) != idle.state(2*ms) {
		t.Error("an expired lease shows")
	}
	if a, b := w.state(3*ms), w.state(9*ms); a != b {
		t.Error("time passes for what is over")
	}
}

func TestCloneIsIndependent(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	pr, ac := w.proposers[p].Clone(), w.acceptors[1].Clone()
	before := w.state(0)
	pr.Release(0)
	ac.master = record{}
	if w.state(0) != before {
		t.Error("a clone's change shows in the original")
	}
}

// Equal bytes mean equal answers: two clusters that went different ways to the same state stay the same.
func TestStateDecidesTheFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newStorm(t)
		for range 60 {
			a.step(t)
		}
		pr := a.proposers[0]
		now := pr.clock.read(a.real)
		x, y := pr.proposer.Clone(), pr.proposer.Clone()
		y.shift(time.Hour)
		y.held.Number, y.held.Since, y.last = 77, 0, End{}
		for range 12 {
			if string(x.AppendState(nil, now)) != string(y.AppendState(nil, now+time.Hour)) {
				t.Fatal("states differ")
			}
			ox, oy := randomCall(t, x, y, now)
			if len(ox) != len(oy) {
				t.Fatalf("sent %v and %v", ox, oy)
			}
			for i := range ox {
				if ox[i] != oy[i] {
					t.Fatalf("sent %v and %v", ox, oy)
				}
			}
			now += rapid.SampledFrom([]time.Duration{0, 0, 1, ms, 3 * ms}).Draw(t, "pass")
		}
	})
}

// shift moves all that p has stored to a clock that reads d more.
func (p *Proposer) shift(d time.Duration) {
	p.attempt.deadline += d
	p.held.Deadline += d
}

// randomCall does the same to x at now and to y an hour later.
func randomCall(t *rapid.T, x, y *Proposer, now time.Duration) (ox, oy []Message) {
	switch rapid.SampledFrom([]string{"start", "resend", "abandon", "release", "reply", "reply", "reply",
		"reply"}).Draw(t, "call") {
	case "start":
		return x.Start(now), y.Start(now + time.Hour)
	case "resend":
		return x.Resend(now), y.Resend(now + time.Hour)
	case "abandon":
		x.Abandon()
		y.Abandon()
	case "release":
		return x.Release(now), y.Release(now + time.Hour)
	case "reply":
		m := Message{
			Kind: rapid.SampledFrom([]Kind{KindPromise, KindPrepareRejected, KindAccepted, KindAcceptRejected}).Draw(t, "kind"),
			From: rapid.SampledFrom([]ballot.NodeID{1, 2, 3}).Draw(t, "from"), To: x.cfg.Self.Node,
			Resource: MasterResource, Class: ClassMaster, Ballot: x.attempt.ballot,
		}
		if rapid.Bool().Draw(t, "live") {
			m.Live, m.LiveOwner, m.LiveBallot = true, x.cfg.Self, ballot.New(x.counter, x.cfg.Self)
		}
		return x.Handle(now, m), y.Handle(now+time.Hour, m)
	}
	return nil, nil
}

func BenchmarkCloneStepState(b *testing.B) {
	w := newWorld(b)
	w.start(p, 1, 2*ms)
	m := w.find(KindPrepare, p, 1, 1)
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		pr, ac := w.proposers[p].Clone(), w.acceptors[1].Clone()
		reply, _ := ac.Handle(0, m)
		pr.Handle(0, reply)
		buf = ac.AppendState(pr.AppendState(buf[:0], 0), 0)
	}
}
