package elector

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/server/members"
	"tenure/server/replica/effect"
)

// stranger is a node that no membership lists.
const stranger ballot.NodeID = 7

// oneRound makes a round with an event and returns its effects and messages.
func oneRound(r *Round, now time.Duration, event Event) (order []effect.Effect, sent []lease.Message) {
	for e := effect.Effect(0); e != effect.Done; order = append(order, e) {
		switch e = r.Next(); e {
		case effect.Take:
			r.Add(event)
		case effect.Clock:
			r.Read(now, View{})
		case effect.Send:
			sent = append(sent, r.Messages()...)
		}
	}
	return order, sent
}

// A membership is reported only when the acceptor uses it. The number is an acknowledgement to the master (settling),
// and the master relies on it: the acceptor takes no older stamp.
func TestMembersAreInForceBeforeTheyAreTold(t *testing.T) {
	r := newTestRound(t, 1, 2, 3)
	if n, _ := r.InForce(); n != 1 {
		t.Fatalf("membership %d is in force at first", n)
	}
	order, _ := oneRound(r, time.Second, Event{Membership: &members.InForce{Number: 2, Voters: quorum.Of(1, 2)}})
	told, handled := slices.Index(order, effect.InForce), slices.Index(order, effect.Lease)
	if n, _ := r.InForce(); told < handled || n != 2 {
		t.Errorf("membership %d is in force after %v", n, order)
	}
	m := lease.Message{Kind: lease.KindPrepare, From: 3, To: 1, Resource: lease.MasterResource, Class: lease.ClassMaster,
		Ballot: ballot.New(1000, incarnation(3)), Membership: 1}
	if order, sent := oneRound(r, time.Second, Event{Message: &m}); slices.Contains(order, effect.InForce) ||
		len(sent) == 0 || sent[0].Kind != lease.KindPrepareRejected {
		t.Errorf("a stamp that is older: %v, %v", order, sent)
	}
}

// The same number again changes nothing, even with other voters, but is reported again. The exclusion that an acceptor
// reports for older stamps is that of its recorded lease.
func TestMembersTheSameNumberChangesNothing(t *testing.T) {
	r := newTestRound(t, 1)
	oneRound(r, time.Second, Event{})
	for _, voters := range []quorum.Set{quorum.Of(1, 2), quorum.Of(2, 3)} {
		order, _ := oneRound(r, time.Second, Event{Membership: &members.InForce{Number: 2, Voters: voters}})
		span, _ := testTiming.Exclusion(testLease)
		if n, left := r.InForce(); n != 2 || left != span || !slices.Contains(order, effect.InForce) {
			t.Errorf("membership %d, %v left, after %v", n, left, order)
		}
	}
	if _, sent := oneRound(r, time.Second+testLease/2, Event{}); len(sent) != 1 || sent[0].To != 2 {
		t.Errorf("the renewal: %v", sent)
	}
}

// A voter that stays one tries when it would have tried.
func TestMembersAVoterTriesAsBefore(t *testing.T) {
	r := newTestRound(t, 1, 2, 3)
	oneRound(r, 0, Event{})
	at := r.Wake()
	m := &members.InForce{Number: 2, Voters: quorum.Of(1, 2)}
	if _, sent := oneRound(r, at, Event{Membership: m}); len(sent) == 0 || sent[0].Membership != 2 {
		t.Errorf("at %v: %v", at, sent)
	}
}

// A node that is no voter starts no attempt, and renews nothing. As a new voter it first waits until its acceptor can
// know of a lease that another node holds.
func TestMembersOnlyVotersTry(t *testing.T) {
	r := newTestRound(t, 2, 3, 4)
	for now := time.Second; now < time.Second+4*testLease; now += testLease / 20 {
		if _, sent := oneRound(r, now, Event{}); len(sent) > 0 {
			t.Fatalf("a node that is no voter sends %v", sent)
		}
		if r.Wake() <= now {
			t.Fatalf("at %v the next round is due at %v", now, r.Wake())
		}
	}
	now := time.Second + 4*testLease
	oneRound(r, now, Event{Membership: &members.InForce{Number: 2, Voters: quorum.Of(1, 2, 3)}})
	began := time.Duration(0)
	for ; began == 0 && now < 2*time.Minute; now += testLease / 20 {
		if _, sent := oneRound(r, now, Event{}); len(sent) > 0 {
			if sent[0].Membership != 2 {
				t.Errorf("sent %v", sent)
			}
			began = now
		}
	}
	if began < time.Second+5*testLease || began > time.Second+6*testLease {
		t.Errorf("the first attempt as a voter after %v", began-time.Second-4*testLease)
	}
}

// The owner renews under the membership in force, whose acceptors may not have heard of it; out of the voters, it lets
// its lease run out.
func TestMembersOwnerGoesOver(t *testing.T) {
	r := newTestRound(t, 1)
	oneRound(r, time.Second, Event{})
	first := r.State()
	if first.Tenure == 0 {
		t.Fatal("a node alone does not win the lease")
	}
	oneRound(r, time.Second, Event{Membership: &members.InForce{Number: 2, Voters: quorum.Of(1, 2)}})
	if s := r.State(); s != first {
		t.Errorf("a change of the members changes the lease that is held: %+v, %+v", first, s)
	}
	_, sent := oneRound(r, time.Second+testLease/2, Event{})
	i := slices.IndexFunc(sent, func(m lease.Message) bool { return m.Kind == lease.KindPrepare && m.To == 2 })
	if i < 0 || sent[i].Membership != 2 {
		t.Fatalf("the renewal: %v", sent)
	}
	oneRound(r, time.Second+testLease/2, Event{Membership: &members.InForce{Number: 3, Voters: quorum.Of(2)}})
	for now := time.Second + testLease/2; now < time.Second+2*testLease; now += testLease / 20 {
		if oneRound(r, now, Event{}); r.Wake() <= now {
			t.Fatalf("at %v the next round is due at %v", now, r.Wake())
		}
	}
	if s := r.State(); s.Tenure != 0 {
		t.Errorf("no voter, and still owner: %+v", s)
	}
}

// refuse answers the Prepares among sent for two voters that have a newer membership in force.
func refuse(r *Round, now time.Duration, sent []lease.Message) (more []lease.Message) {
	for _, m := range sent {
		if m.Kind == lease.KindPrepare {
			_, out := oneRound(r, now, Event{Message: &lease.Message{Kind: lease.KindPrepareRejected, From: m.To, To: m.From,
				Resource: m.Resource, Class: m.Class, Ballot: m.Ballot, Membership: 2}})
			more = append(more, out...)
		}
	}
	return more
}

// A node whose attempt was refused for a newer membership leaves its promise to the others for some lease times, and
// tries at once when it has learned the membership. So does one that was refused by a single voter, and waited for
// another one until its deadline.
func TestMembersAnOutdatedVoterMakesWay(t *testing.T) {
	for _, c := range []struct {
		voters []ballot.NodeID
		lasts  time.Duration // the attempt
	}{
		{[]ballot.NodeID{1, 2, 3}, 0},
		{[]ballot.NodeID{1, 2, 3, 4}, testLease}, // 4 promises, 3 is down
	} {
		for _, learns := range []bool{false, true} {
			r := newTestRound(t, c.voters...)
			oneRound(r, 0, Event{})
			tried := r.Wake()
			_, sent := oneRound(r, tried, Event{})
			if len(sent) != len(c.voters)-1 {
				t.Fatalf("the attempt: %v", sent)
			}
			first := sent[0].Ballot
			if c.lasts > 0 {
				oneRound(r, tried, Event{Message: &lease.Message{Kind: lease.KindPromise, From: 4, To: 1,
					Resource: sent[0].Resource, Class: sent[0].Class, Ballot: first}})
				sent = sent[:1]
			}
			if more := refuse(r, tried, sent); len(more) > 0 {
				t.Fatalf("after the refusals: %v", more)
			}
			if learns {
				oneRound(r, tried, Event{Membership: &members.InForce{Number: 2, Voters: quorum.Of(c.voters...)}})
			}
			again := tried
			for sent = nil; len(sent) == 0 && again < tried+10*testLease; again += testLease / 50 {
				_, sent = oneRound(r, again, Event{})
				sent = slices.DeleteFunc(sent, func(m lease.Message) bool { return m.Ballot == first })
			}
			waited := again - tried - c.lasts
			if learns && waited > testLease/4 ||
				!learns && (waited < outdatedPause*testLease || waited > (outdatedPause+1)*testLease) {
				t.Errorf("voters %v, it has learned the membership: %v; it tried again %v after its attempt", c.voters,
					learns, waited)
			}
		}
	}
}

// Over many changes a node remembers only present voters: there is no space for all former ones.
func TestFormerVotersAreForgotten(t *testing.T) {
	var e tenures
	for n := ballot.NodeID(1); n <= 3*quorum.MaxVoters; n++ {
		now := quorum.Of(n, n+1)
		e.follow(now)
		a := lease.Attempt{Phase: lease.PhasePreparing, Ballot: ballot.Ballot{Counter: uint64(n)}}
		e.answered(0, lease.Message{Kind: lease.KindPrepareRejected, From: n, Ballot: a.Ballot}, a, a.Phase)
		e.answered(0, lease.Message{Kind: lease.KindPromise, From: n + 1, Ballot: a.Ballot}, a, a.Phase)
		if e.refused != quorum.Of(n) || !e.heard.Has(n+1) {
			t.Fatalf("of %v: refused %v, heard %v", now, e.refused, e.heard)
		}
	}
}

// Votes for the master lease come last: first the membership that lists a voter is in force.
func TestAForeignAttemptForTheLeaseGetsNoVote(t *testing.T) {
	for _, c := range []struct {
		from   ballot.NodeID
		stamp  uint64
		answer bool
	}{
		{from: 2, stamp: 1, answer: true},
		{from: 2, stamp: 2, answer: true}, // a voter here too, that has gone over before
		{from: stranger, stamp: 1},
		{from: stranger, stamp: 1 << 60},
	} {
		for _, k := range []lease.Kind{lease.KindPrepare, lease.KindAccept} {
			e := newTestRound(t, 1, 2, 3).part
			owner := ballot.Incarnation{Node: c.from, Restart: 1, Nonce: 1}
			m := lease.Message{Kind: k, From: c.from, To: 1, Resource: lease.MasterResource, Class: lease.ClassMaster,
				Ballot: ballot.New(5, owner), Membership: c.stamp}
			if k == lease.KindAccept {
				m.Owner, m.Duration = owner, testLease
			}
			e.handle(0, m)
			if got := len(e.drain()) > 0; got != c.answer {
				t.Errorf("%v of node %d with stamp %d is answered: %v", k, c.from, c.stamp, got)
			}
		}
	}
}

// Nobody gives up the lease of another.
func TestAReleaseOfAnotherIsNotTaken(t *testing.T) {
	for _, from := range []ballot.NodeID{2, 3, stranger} {
		e := newTestRound(t, 1, 2, 3).part
		owner := ballot.Incarnation{Node: 2, Restart: 1, Nonce: 1}
		m := lease.Message{Kind: lease.KindAccept, From: 2, To: 1, Resource: lease.MasterResource, Class: lease.ClassMaster,
			Ballot: ballot.New(5, owner), Membership: 1, Owner: owner, Duration: testLease}
		e.handle(0, m)
		m.Kind, m.From, m.Duration = lease.KindRelease, from, 0
		e.handle(0, m)
		if _, live := e.acceptor.Live(0); live != (from != 2) {
			t.Errorf("after a release of node %d the lease is live: %v", from, live)
		}
	}
}
