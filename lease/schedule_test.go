package lease

import (
	"testing"
	"time"

	"tenure/internal/ballot"
)

// The schedules below are the shortest that give two owners, or an epoch that should have ended, when one rule is
// weakened. Each is played up to the step that decides, and the core must refuse there. Numbers like 2q are a ballot's
// counter and proposer.

func TestScheduleAcceptKeepsPromise(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, ms)
	w.start(q, 2, ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.release(p)
	w.start(p, 2, ms)
	w.deliver(KindPrepare, p, 2, 1, 2) // the third has promised nothing
	w.deliver(KindAccept, p, 2, 3)
	wantKind(t, w.deliver(KindAccept, p, 1, 3), KindAcceptRejected) // else Release of 1p clears what 2p rests on
	w.deliver(KindRelease, p, 1, 3)
	w.deliver(KindPrepare, q, 2, 3, 2)
	w.deliver(KindAccept, p, 2, 1)
	if !w.owns(p) {
		t.Fatal("p does not own with 1 and 3")
	}
	if w.proposers[q].Attempt().Phase == PhaseAccepting {
		t.Fatal("q found a quorum open")
	}
}

func TestScheduleExclusionShrinks(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.start(q, 2, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.deliver(KindPrepare, q, 2, 3)
	w.deliver(KindAccept, p, 1, 1, 2)
	w.start(p, 2, ms)
	w.deliver(KindPrepare, p, 2, 1, 2)
	w.deliver(KindAccept, p, 2, 1) // shorter than what is left
	w.tick()
	if !w.owns(p) {
		t.Fatal("p owns under 1p for another tick")
	}
	if r, ok := w.live(1); !ok || r.Left != ms {
		t.Fatalf("the shorter renewal left %v, %v", r, ok)
	}
	if m := w.deliver(KindPrepare, q, 2, 1); !m.Live {
		t.Fatalf("open for q: %v", m)
	}
	if w.proposers[q].Attempt().Phase == PhaseAccepting {
		t.Fatal("q found a quorum open")
	}
}

func TestScheduleGuardianGuesses(t *testing.T) {
	w := newWorld(t)
	var g Guardian // p's; p lives
	var n Notes
	w.win(p, 1, 2*ms, 1, 2)
	n.Sent(w.now, tiny, w.sent)
	if g.Due(time.Hour) {
		for _, to := range []ballot.NodeID{1, 2, 3} {
			w.sent = append(w.sent, CrashReleases(w.proposers[p].cfg.Self, to, n.AppendCounters(nil, w.now))...)
		}
		w.deliver(KindRelease, p, 1, 1, 2)
	}
	w.start(q, 2, 2*ms)
	w.deliver(KindPrepare, q, 2, 1, 2)
	if w.proposers[q].Attempt().Phase == PhaseAccepting {
		w.deliver(KindAccept, q, 2, 1, 2)
	}
	if !w.owns(p) || w.owns(q) {
		t.Fatalf("p owns: %v, q owns: %v", w.owns(p), w.owns(q))
	}
}

func TestScheduleLateRenewalSameEpoch(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.deliver(KindAccept, p, 1, 1)
	w.tick()
	w.start(q, 1, 2*ms)
	w.deliver(KindPrepare, q, 1, 3)
	w.deliver(KindAccept, p, 1, 2)
	first, _ := w.proposers[p].Held(w.now)
	w.start(p, 2, 2*ms)
	w.deliver(KindPrepare, p, 2, 2)
	w.tick()
	w.deliver(KindPrepare, q, 1, 1)
	w.deliver(KindAccept, q, 1, 3, 1)
	if !w.owns(q) {
		t.Fatal("q does not own in the gap")
	}
	w.release(q)
	w.deliver(KindRelease, q, 1, 3)
	w.deliver(KindPrepare, p, 2, 3)
	w.deliver(KindAccept, p, 2, 2, 3)
	second, held := w.proposers[p].Held(w.now)
	if !held || second.Number == first.Number || second.Since != w.now {
		t.Fatalf("the tenure %+v continues %+v across q's", second, first)
	}
}

func TestScheduleP4NoDeadlineCheck(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.deliver(KindAccept, p, 1, 1)
	w.tick()
	w.tick()
	w.start(q, 1, 2*ms)
	w.deliver(KindPrepare, q, 1, 3)
	w.deliver(KindAccept, p, 1, 2)
	if h := w.proposers[p].held; h != (Tenure{}) {
		t.Fatalf("p won after its deadline: %+v", h)
	}
	w.deliver(KindPrepare, q, 1, 1)
	w.deliver(KindAccept, q, 1, 1, 3)
	if !w.owns(q) {
		t.Fatal("q does not own")
	}
}

// restartWith runs A4 for acceptor 1 with a longest lease of m, over the start record `stored`.
func restartWith(w *world, m time.Duration, stored time.Duration) Quarantine {
	plan := must(PlanQuarantine(stored, Timing{MaxMaster: m, MaxUser: m}, false))
	w.restartAcceptor(1, plan.Silence)
	return plan
}

func TestScheduleQuarantineFromNewM(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	restartWith(w, ms, 2*ms)
	w.tick()
	w.start(q, 1, ms)
	if m := w.deliver(KindPrepare, q, 1, 1); m != (Message{}) {
		t.Fatalf("acceptor 1 speaks while an older run's M still binds it: %v", m)
	}
	w.deliver(KindPrepare, q, 1, 3)
	if w.proposers[q].Attempt().Phase == PhaseAccepting {
		t.Fatal("q found a quorum open")
	}
}

func TestScheduleQuickRestartForgets(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	plan := restartWith(w, ms, 2*ms)
	restartWith(w, ms, plan.Record(0))
	w.tick()
	w.start(q, 1, ms)
	if m := w.deliver(KindPrepare, q, 1, 1); m != (Message{}) {
		t.Fatalf("the second restart forgot what was owed before the first: %v", m)
	}
}

func TestScheduleOwnerOnlyRelease(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, ms)
	w.start(q, 2, ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.release(p)
	w.start(p, 2, ms)
	w.deliver(KindPrepare, p, 2, 1, 2)
	w.deliver(KindPrepare, q, 2, 3)
	w.deliver(KindAccept, p, 2, 1, 2)
	w.deliver(KindRelease, p, 1, 1)
	if r, ok := w.live(1); !ok || r.Ballot.Counter != 2 {
		t.Fatalf("Release of 1p cleared 2p: %+v", r)
	}
	if m := w.deliver(KindPrepare, q, 2, 1); !m.Live {
		t.Fatalf("open for q: %v", m)
	}
}

func TestScheduleScalarQuorum(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, ms)
	w.deliver(KindPrepare, p, 1, 1, 1, 1)
	if got := w.proposers[p].Attempt().Phase; got != PhasePreparing {
		t.Fatalf("one acceptor's promises made a quorum: %v", got)
	}
	w.deliver(KindPrepare, p, 1, 2)
	w.deliver(KindAccept, p, 1, 2, 2, 2)
	if w.owns(p) {
		t.Fatal("one acceptor's votes made a quorum")
	}
}

func TestScheduleNodeOwner(t *testing.T) {
	w := newWorld(t)
	w.start(p, 2, ms)
	w.deliver(KindPrepare, p, 2, 1, 2)
	w.release(p)
	w.restartProposer(p, 1)
	w.restartAcceptor(1, ms)
	w.tick()
	w.start(q, 2, ms)
	w.win(p, 1, ms, 1, 3)
	wantKind(t, w.deliver(KindAccept, p, 2, 1), KindAcceptRejected) // of the run before: somebody else's
	w.deliver(KindPrepare, q, 2, 2)
	w.deliver(KindRelease, p, 2, 1)
	if r, ok := w.live(1); !ok || r.Owner.Restart != 1 {
		t.Fatalf("the older run's Accept and Release touched the record: %+v", r)
	}
	w.deliver(KindPrepare, q, 2, 1)
	if w.proposers[q].Attempt().Phase == PhaseAccepting {
		t.Fatal("q found a quorum open")
	}
}

func TestScheduleReleaseAbandoned(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, ms, 1, 2)
	w.start(p, 2, ms)
	w.deliver(KindPrepare, p, 2, 1, 2)
	w.proposers[p].Abandon()
	later := append(w.proposers[p].Resend(w.now), w.proposers[p].Clone().Start(w.now)...)
	for _, m := range append(later, w.sent...) {
		if m.Kind == KindRelease {
			t.Fatalf("abandoning a renewal led to %v", m)
		}
	}
	if !w.owns(p) {
		t.Fatal("p lost its base")
	}
	w.deliver(KindAccept, p, 2, 1)
	w.release(p) // the only way to name 2p ends the ownership first
	if w.owns(p) {
		t.Fatal("p owns after its release")
	}
	w.find(KindRelease, p, 1, 1)
	w.find(KindRelease, p, 2, 1)
}

func TestScheduleReleaseBeforeAbandon(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.release(p)
	w.deliver(KindAccept, p, 1, 1, 2)
	if w.owns(p) {
		t.Fatal("an attempt was won after its release")
	}
}

func TestScheduleShortQuarantine(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.start(q, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.deliver(KindPrepare, q, 1, 3, 1)
	w.deliver(KindAccept, p, 1, 2)
	w.deliver(KindAccept, q, 1, 3, 1)
	plan := must(PlanQuarantine(0, tiny, false))
	w.restartAcceptor(1, plan.Silence)
	w.tick()
	if m := w.deliver(KindAccept, p, 1, 1); m != (Message{}) {
		t.Fatalf("acceptor 1 speaks a tick before its silence ends: %v", m)
	}
	if !w.owns(q) || w.owns(p) {
		t.Fatal("q alone should own")
	}
}

func TestScheduleShortExclusion(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.start(q, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.deliver(KindPrepare, q, 1, 3)
	w.deliver(KindAccept, p, 1, 1)
	w.tick()
	w.deliver(KindAccept, p, 1, 2)
	if m := w.deliver(KindPrepare, q, 1, 1); !m.Live {
		t.Fatalf("the exclusion ended before the ownership: %v", m)
	}
}

func TestScheduleLateTimer(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, ms)
	w.start(q, 1, ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.tick() // the deadline has stood since P1
	w.deliver(KindPrepare, q, 1, 2, 3)
	if got := w.proposers[q].Attempt().Phase; got != PhaseNone {
		t.Fatalf("q goes on after its deadline: %v", got)
	}
	w.deliver(KindAccept, p, 1, 1, 2)
	if w.owns(p) {
		t.Fatal("p owns after its deadline")
	}
}

func TestScheduleLiveOverwriteRenew(t *testing.T) {
	w := newWorld(t)
	w.start(q, 1, 2*ms)
	w.deliver(KindPrepare, q, 1, 3)
	w.restartAcceptor(3, 2*ms)
	w.tick()
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.deliver(KindPrepare, q, 1, 2) // q's quorum is 2 and 3 before its restart
	w.deliver(KindAccept, p, 1, 1)
	wantKind(t, w.deliver(KindAccept, q, 1, 1), KindAcceptRejected) // 1q > 1p, but 1p lives
	w.deliver(KindAccept, q, 1, 2)
	if w.owns(q) {
		t.Fatal("q owns with one acceptor")
	}
	if r, ok := w.live(1); !ok || r.Owner.Node != p {
		t.Fatalf("1p's record became %+v", r)
	}
}

func TestScheduleLiveOverwriteRelease(t *testing.T) {
	w := newWorld(t)
	w.start(q, 1, ms)
	w.deliver(KindPrepare, q, 1, 1, 2)
	w.release(q)
	w.restartAcceptor(1, ms)
	w.tick()
	w.start(q, 2, ms)
	w.win(p, 1, ms, 1, 3)
	wantKind(t, w.deliver(KindAccept, q, 1, 1), KindAcceptRejected) // 1q > 1p, but 1p lives
	w.deliver(KindPrepare, q, 2, 2)
	w.deliver(KindRelease, q, 1, 1)
	if m := w.deliver(KindPrepare, q, 2, 1); !m.Live {
		t.Fatalf("open for q: %v", m)
	}
	if w.proposers[q].Attempt().Phase == PhaseAccepting {
		t.Fatal("q found a quorum open")
	}
}

func TestScheduleStaleOwnerOpen(t *testing.T) {
	w := newWorld(t)
	w.start(q, 1, ms)
	w.deliver(KindPrepare, q, 1, 1, 2)
	w.restartAcceptor(1, ms)
	w.tick()
	w.start(q, 2, ms)
	w.deliver(KindAccept, q, 1, 2) // an abandoned attempt's record: q owns nothing
	w.deliver(KindPrepare, q, 2, 2, 3)
	if got := w.proposers[q].Attempt().Phase; got != PhasePreparing {
		t.Fatalf("q's own stale record was open in a fresh attempt: %v", got)
	}
}
