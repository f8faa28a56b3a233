package lease

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Changing members, "Prepare and Accept are stamped with the membership number. An acceptor refuses stamps older than
// its durable membership": for ever after, also in its next run, and whatever the ballot. It says which one is in force.
func TestMembersOlderStampsAreRefused(t *testing.T) {
	for _, kind := range []Kind{KindPrepare, KindAccept} {
		for _, restarted := range []bool{false, true} {
			a := must(NewAcceptor(AcceptorConfig{Self: 1, Timing: tiny, Membership: 3}))
			if !restarted {
				a = must(NewAcceptor(AcceptorConfig{Self: 1, Timing: tiny}))
				a.SetMembership(3)
			}
			a.SetMembership(2) // changes nothing
			before := string(a.AppendState(nil, 0))
			for stamp := range uint64(3) {
				m := goodAccept()
				m.Kind, m.Duration, m.Membership = kind, ms, stamp
				reply, ok := a.Handle(0, m)
				if !ok || reply.Kind != kind+2 || reply.Membership != 3 || reply.Check() != nil {
					t.Errorf("%v of membership %d: %v, %v", kind, stamp, ok, reply)
				}
			}
			if string(a.AppendState(nil, 0)) != before {
				t.Errorf("%v of older memberships have changed something", kind)
			}
			for stamp := uint64(3); stamp < 5; stamp++ {
				m := goodAccept()
				m.Kind, m.Duration, m.Membership = kind, ms, stamp
				if reply, ok := a.Handle(0, m); !ok || reply.Kind != kind+1 {
					t.Errorf("%v of membership %d: %v, %v", kind, stamp, ok, reply)
				}
			}
		}
	}
}

// A message without a stamp is an older version's, and of the first membership, which bootstrap writes.
func TestMembersNoStampIsTheFirst(t *testing.T) {
	a := must(NewAcceptor(AcceptorConfig{Self: 1, Timing: tiny}))
	m := goodAccept()
	m.Duration = ms
	if reply, ok := a.Handle(0, m); !ok || reply.Kind != KindAccepted || a.Membership() != 1 {
		t.Errorf("%v, %v under membership %d", ok, reply, a.Membership())
	}
	pr := must(NewProposer(ProposerConfig{Self: ballot.Incarnation{Node: p}, Duration: ms, Voters: quorum.Of(1),
		Timing: tiny}))
	if out := pr.Start(0); out[0].Membership != 1 || pr.Membership() != 1 {
		t.Errorf("%v under membership %d", out, pr.Membership())
	}
}

// An attempt keeps the stamp and the voters that it began with, in both phases and when it is repeated: its quorum is
// one of one membership. The next one is of the new.
func TestMembersAnAttemptIsOfOneMembership(t *testing.T) {
	w := newWorld(t)
	w.restartAcceptor(4, 0)
	pr := w.proposers[p]
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1)
	pr.SetMembership(2, quorum.Of(1, 3, 4))
	pr.SetMembership(1, quorum.Of(2)) // changes nothing
	pr.SetMembership(2, quorum.Of(2)) // nor does it
	vote := w.find(KindPrepare, p, 1, 3)
	vote.Kind, vote.From, vote.To = KindPromise, 4, p
	if out := pr.Handle(w.now, vote); len(out) != 0 {
		t.Fatalf("a voter of the next membership made a quorum: %v", out)
	}
	for _, m := range pr.Resend(w.now) {
		if m.Membership != 1 || m.To == 4 {
			t.Errorf("repeated: %v", m)
		}
	}
	w.deliver(KindPrepare, p, 1, 2)
	for _, to := range []ballot.NodeID{1, 2, 3} {
		if m := w.find(KindAccept, p, 1, to); m.Membership != 1 {
			t.Errorf("the Accept of an attempt that began under membership 1: %v", m)
		}
	}
	w.deliver(KindAccept, p, 1, 1, 2)
	if !w.owns(p) {
		t.Fatal("a majority of the membership that the attempt is of does not own")
	}
	w.start(p, 2, 2*ms)
	for _, to := range []ballot.NodeID{1, 3, 4} {
		if m := w.find(KindPrepare, p, 2, to); m.Membership != 2 {
			t.Errorf("the next attempt: %v", m)
		}
	}
	w.deliver(KindPrepare, p, 2, 1, 4)
	if a := pr.Attempt(); a.Phase != PhaseAccepting {
		t.Errorf("promises of 1 and 4 of {1,3,4}: %v", a.Phase)
	}
}

// An attempt that no quorum takes because the members have changed ends at once, and says so.
func TestMembersAnOutdatedAttemptEnds(t *testing.T) {
	w := newWorld(t)
	w.acceptors[1].SetMembership(2)
	w.acceptors[2].SetMembership(4)
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	a := w.proposers[p].Attempt()
	if a.Phase != PhaseNone || a.Last.Reason != EndOutdated || a.Last.String() != "outdated: membership 4 is in force" {
		t.Errorf("%v, %v", a.Phase, a.Last)
	}
	if wait := w.proposers[p].RetryAfter(w.now, 0); wait > ms {
		t.Errorf("tried again after %v", wait)
	}
}

// One refusal of four ends no attempt while a voter is silent. When its deadline has passed the attempt says what that
// refusal was about.
func TestMembersAnExpiredAttemptSaysItIsOutdated(t *testing.T) {
	for name, ends := range map[string]func(w *world){
		"a resend": func(w *world) { w.proposers[p].Resend(w.now) },
		"a late promise": func(w *world) {
			for _, from := range []ballot.NodeID{2, 3, 4} {
				m := w.find(KindPrepare, p, 1, from)
				w.proposers[p].Handle(w.now, Message{Kind: KindPromise, From: from, To: p, Resource: m.Resource, Class: m.Class,
					Ballot: m.Ballot})
			}
		},
	} {
		w := newWorld(t)
		w.proposers[p].SetMembership(2, quorum.Of(1, 2, 3, 4))
		w.acceptors[1].SetMembership(3)
		w.start(p, 1, 2*ms)
		w.deliver(KindPrepare, p, 1, 1)
		if a := w.proposers[p].Attempt(); a.Phase != PhasePreparing {
			t.Fatalf("%s: one refusal of four: %v, %v", name, a.Phase, a.Last)
		}
		w.tick()
		w.tick()
		ends(w)
		if a := w.proposers[p].Attempt(); a.Phase != PhaseNone || a.Last.Reason != EndExpired || a.Last.Membership != 3 {
			t.Errorf("%s: %v, %+v", name, a.Phase, a.Last)
		}
	}
}

// "(b) then a wait": an acceptor tells how long leases accepted before the membership was in force may still be held. A
// renewal since then does not change that. For forgotten leases it is the rest of the silence.
func TestMembersOlderExclusion(t *testing.T) {
	w := newWorld(t)
	a := w.acceptors[1]
	left := func() time.Duration { return a.OlderExclusion(w.now) }
	w.win(p, 1, 2*ms, 1, 2)
	if left() != 0 {
		t.Errorf("%v of older memberships, and there is none", left())
	}
	a.SetMembership(2)
	w.acceptors[2].SetMembership(2)
	w.proposers[p].SetMembership(2, quorum.Of(1, 2, 3))
	w.tick()
	if left() != ms {
		t.Errorf("%v, want 1 ms: the record of 2 ms, a millisecond later", left())
	}
	w.win(p, 2, 2*ms, 1, 2)
	a.SetMembership(2) // again: changes nothing
	if left() != ms {
		t.Errorf("%v, want 1 ms: the renewal is of the new membership", left())
	}
	w.release(p)
	w.deliver(KindRelease, p, 2, 1)
	if left() != 0 {
		t.Errorf("%v after the release", left())
	}
	w.restartAcceptor(1, 5*ms)
	a = w.acceptors[1]
	if left() != 5*ms {
		t.Errorf("%v, want the 5 ms of the silence", left())
	}
}

// P7 with changing members: a guardian knows of no membership. Its Release clears the record, whatever has changed
// since the Accept.
func TestMembersCrashReleaseNeedsNoStamp(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	a := w.acceptors[1]
	a.SetMembership(7)
	for _, m := range CrashReleases(w.proposers[p].cfg.Self, 1, []uint64{1}) {
		a.Handle(w.now, m)
	}
	if r, live := w.live(1); live {
		t.Errorf("the record lives: %+v", r)
	}
}
