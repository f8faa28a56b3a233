package leases

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
)

// As few as make a quorum are asked at once. The others are asked at once when a vote is missing, and only then; who
// has promised is asked to accept.
func TestTheOthersAreAskedWhenAVoteIsMissing(t *testing.T) {
	own := named.Reply{Report: 1<<32 + 2, Live: true, LiveAcquisition: named.Acquisition{'a'}, LiveToken: 1<<32 + 2,
		LiveLeft: time.Second}
	for _, c := range []struct {
		name string
		kind named.Kind
		r    named.Reply
		lack bool
	}{
		{"a promise", named.Promise, named.Reply{}, false},
		{"a promise that knows this very lease", named.Promise, own, false},
		{"a promise that knows somebody else's lease", named.Promise, stolen, true},
		{"a refusal for a higher promise", named.PrepareRejected, named.Reply{}, true},
	} {
		n := newLone(t)
		id := n.acquire("x", "a")
		first, others := n.toldFirst()
		n.reply(id, c.kind, c.r, first[0])
		if c.lack {
			n.wantTold(c.name, others...)
			continue
		}
		n.wantTold(c.name)
		n.reply(id, named.Promise, named.Reply{}, first[1])
		n.wantTold(c.name+" and another one", first...)
		n.reply(id, named.Accepted, named.Reply{}, first[0])
		n.wantTold("an acceptance")
		n.reply(id, named.AcceptRejected, named.Reply{}, first[1])
		n.wantTold("a refusal to accept", others...)
	}
}

// Another attempt follows one that others have frustrated, after a random wait, a bounded number of times.
func TestFrustratedAttemptsAreRepeated(t *testing.T) {
	n := newLone(t)
	id := n.acquire("x", "a")
	tries := 0
	for range 2 * triesMost {
		if _, done := n.answers[id]; done {
			break
		}
		tries++
		n.reply(id, named.PrepareRejected, named.Reply{}, 2, 3)
		n.reply(id, named.PrepareRejected, stolen, 4)
		n.told()
		n.later(0)
		if n.underWay(id) {
			t.Fatalf("attempt %d follows without a wait", tries+1)
		}
		n.later(backoffFirst + backoffMost)
	}
	if busy := n.want(id, Busy, NoReason); busy.Owner != "other" || busy.RetryAfter != resendEvery {
		t.Errorf("%+v", busy)
	}
	if tries != triesMost {
		t.Errorf("%d attempts", tries)
	}
}

// No attempt goes on beyond a request's Until, and none waits for a busy name beyond its WaitUntil.
func TestNoAttemptFollowsTooLate(t *testing.T) {
	const span = 10 * time.Millisecond
	for _, late := range []bool{false, true} {
		n := newLone(t)
		plain := n.ask(Request{Op: Acquire, Until: n.now + span}, "x", "a")
		waits := n.ask(Request{Op: Acquire, WaitUntil: n.now + span}, "y", "b")
		n.now += span
		if !late {
			n.now--
		}
		n.reply(plain, named.PrepareRejected, named.Reply{}, 2, 3, 4)
		n.reply(waits, named.Promise, stolen, 2, 3, 4)
		if !late {
			n.unanswered("before its time", plain, waits)
			continue
		}
		n.want(plain, Busy, NoReason)
		if busy := n.want(waits, Busy, NoReason); busy.Owner != "other" || busy.RetryAfter != stolen.LiveLeft {
			t.Errorf("%+v", busy)
		}
	}
}

// An attempt that some have refused, while the others say nothing, is sent again twice before it is given up.
func TestAnAttemptIsSentAgainBeforeItIsGivenUp(t *testing.T) {
	n := newLone(t)
	id := n.acquire("x", "a")
	n.reply(id, named.PrepareRejected, named.Reply{}, 2)
	n.told()
	for range resendsMost {
		n.later(resendEvery)
		n.wantTold("sent again", 3, 4, 5)
		if !n.underWay(id) {
			t.Fatal("given up")
		}
	}
	if n.later(resendEvery); n.underWay(id) {
		t.Error("it goes on")
	}
	n.unanswered("between two attempts", id)
}

// At most half of the requests may wait for a name. The rest of the space is for requests that do not wait, or cannot.
func TestWaitersLeaveSpaceForOthers(t *testing.T) {
	n := newLone(t)
	var waiters []uint64
	for range loneTasks / 2 {
		who := string(rune('a' + n.nextID))
		waiters = append(waiters, n.ask(Request{Op: Acquire, WaitUntil: n.now + time.Minute}, "x", who))
	}
	n.unanswered("a waiter", waiters...)
	n.want(n.ask(Request{Op: Acquire, WaitUntil: n.now + 1}, "x", "z"), NotApplied, Overloaded)
	n.unanswered("beside the waiters",
		n.ask(Request{Op: Acquire}, "y", "a"),
		n.ask(Request{Op: Acquire, WaitUntil: n.now}, "z", "a"),
		n.ask(Request{Op: Renew, WaitUntil: n.now + time.Minute}, "u", "a"),
		n.ask(Request{Op: Release, WaitUntil: n.now + time.Minute}, "v", "a"))
}

// A renewal ends with "gone" only if the lease has ended. A renewal refused by others is tried again, even if its
// request would wait. A renewal without answers may still own the lease.
func TestARenewalThatFailsIsNotGone(t *testing.T) {
	n := newLone(t)
	id := n.ask(Request{Op: Renew, WaitUntil: n.now + time.Minute, Until: n.now + 2*testTTL}, "x", "a")
	n.reply(id, named.PrepareRejected, named.Reply{}, 2, 3, 4)
	n.unanswered("frustrated", id)
	n.later(backoffFirst + backoffMost)
	if !n.underWay(id) {
		t.Fatal("it is not tried again")
	}
	for range 2 * testTTL / resendEvery {
		n.later(resendEvery)
		n.told()
	}
	n.want(id, NotApplied, NoQuorum)
	id = n.ask(Request{Op: Renew, WaitUntil: n.now + time.Minute}, "x", "a")
	n.reply(id, named.Promise, stolen, 2, 3, 4)
	n.want(id, Gone, NoReason)
}

// A release goes to all at once, again to those that have not confirmed it, and not before its time. Any number of
// nodes that have no vote confirm nothing.
func TestAReleaseIsSentAgainToWhoeverIsMissing(t *testing.T) {
	n := newLone(t)
	id := n.ask(Request{Op: Release}, "x", "a")
	n.wantTold("a release", 2, 3, 4, 5)
	n.later(resendEvery - 1)
	n.wantTold("before its time")
	n.reply(id, named.Released, named.Reply{}, 2, 6, 7, 8, 9, 10, 11, 12, 13)
	n.later(1)
	n.wantTold("sent again", 3, 4, 5)
	n.unanswered("confirmed by two of five", id)
	n.reply(id, named.Released, named.Reply{}, 3)
	n.want(id, Done, NoReason)
}

// A reply to anything but the present phase changes nothing: no voter is asked sooner, or counted as having promised.
func TestRepliesOfTheWrongKindAreDropped(t *testing.T) {
	n := newLone(t)
	release := n.ask(Request{Op: Release}, "y", "a")
	n.told()
	id := n.acquire("x", "a")
	first, others := n.toldFirst()
	for _, k := range []named.Kind{named.PrepareRejected, named.AcceptRejected, named.Promise, named.Accepted} {
		n.reply(release, k, named.Reply{}, first[0])
	}
	n.wantTold("refusals of what nobody has asked for")
	n.reply(id, named.Accepted, named.Reply{}, others[0])
	n.reply(id, named.Released, named.Reply{}, others[0])
	n.reply(id, named.Promise, named.Reply{}, first...)
	n.wantTold("two promises", first...)
	n.unanswered("at the end", release, id)
}

// An attempt under way when its client gives up may end by itself, and is not called "not applied". A waiting request
// has had no effect.
func TestACancelledAttemptMayEndByItself(t *testing.T) {
	n := newLone(t)
	id := n.acquire("x", "a")
	n.reply(id, named.Promise, named.Reply{}, 2, 3)
	n.give(n.now, Event{Cancel: id})
	n.unanswered("with Accept out", id)
	waits := n.ask(Request{Op: Acquire, WaitUntil: n.now + time.Minute}, "x", "b")
	n.give(n.now, Event{Cancel: waits})
	n.want(waits, NotApplied, Stopping)
	n.reply(id, named.Accepted, named.Reply{}, 2, 3)
	n.want(id, Done, NoReason)
}

// A request that finds another owner after an attempt that may have been accepted is told of the owner.
func TestBusyAfterAnAccept(t *testing.T) {
	n := newLone(t)
	id := n.acquire("x", "a")
	n.reply(id, named.Promise, named.Reply{}, 2, 3)
	n.reply(id, named.AcceptRejected, named.Reply{}, 2, 3, 4)
	n.later(backoffFirst + backoffMost)
	n.reply(id, named.Promise, stolen, 2, 3, 4)
	if busy := n.want(id, Busy, NoReason); busy.Owner != "other" {
		t.Errorf("%+v", busy)
	}
}

// Those who wait on this node for a name try as soon as an attempt of this node's that stood in their way has failed.
func TestAFailedAttemptMakesWayForWaiters(t *testing.T) {
	n := newLone(t)
	id := n.ask(Request{Op: Acquire, Until: n.now + 1}, "x", "a")
	n.reply(id, named.Promise, named.Reply{}, 2, 3)
	waits := n.ask(Request{Op: Acquire, WaitUntil: n.now + time.Minute}, "x", "b")
	if n.underWay(waits) {
		t.Fatal("it does not wait")
	}
	n.later(1)
	n.reply(id, named.AcceptRejected, named.Reply{}, 2, 3, 4)
	n.want(id, Busy, NoReason)
	if n.later(5*rankStep + rankStep/4); !n.underWay(waits) {
		t.Error("it waits on")
	}
}

// A release or a withdrawal from another node wakes the waiters for the name. A Prepare does not: its sender knows no
// more than they do.
func TestWhatWakesWaiters(t *testing.T) {
	other := ballot.Incarnation{Node: 2, Restart: 1, Nonce: 1}
	ask := func(k named.Kind) named.Request {
		return named.Request{Kind: k, Name: named.Name{'x'}, Counter: 5, Acquisition: named.Acquisition{'o'},
			Token: 1<<32 + 3, Duration: testTTL}
	}
	for kind, want := range map[named.Kind]bool{named.Prepare: false, named.Release: true, named.Withdraw: true} {
		n := newLone(t)
		if kind != named.Prepare { // else only the others know of the lease
			n.table.Handle(n.now, other, ask(named.Prepare))
			n.table.Handle(n.now, other, ask(named.Accept))
		}
		id := n.ask(Request{Op: Acquire, WaitUntil: n.now + time.Minute}, "x", "a")
		if kind == named.Prepare {
			n.reply(id, named.Promise, stolen, 2, 3, 4)
		}
		if n.underWay(id) {
			t.Fatalf("%v: it does not wait", kind)
		}
		n.give(n.now, Event{Batch: &Batch{To: 1, Requests: []named.Request{ask(kind)}}, From: other})
		if n.later(5*rankStep + rankStep/4); n.underWay(id) != want {
			t.Errorf("after %v it tries: %v", kind, !want)
		}
	}
}

// A node is taken to keep silent from when it says so, for a time that is possible, until it answers anything.
func TestSilenceEndsWithAnAnswer(t *testing.T) {
	n := newLone(t)
	id := n.acquire("x", "a")
	for _, left := range []time.Duration{0, -1, 1 << 62} {
		n.reply(id, named.Silent, named.Reply{Left: left}, 2, 3, 4)
		n.unanswered("a silence that nobody keeps", id)
	}
	n.reply(id, named.Silent, named.Reply{Left: 10 * time.Second}, 2, 3, 4)
	n.want(id, NotApplied, Silent)
	n.want(n.acquire("x", "b"), NotApplied, Silent)
	n.hear(3, named.Reply{Kind: named.Released, Name: named.Name{'y'}, Counter: 77})
	n.unanswered("with three that speak", n.acquire("x", "c"))
}

// N3: an era is asked for as soon as the largest token that the node has ever seen, from any source, has used half of
// its era.
func TestN3TheLargestTokenSeenCounts(t *testing.T) {
	const half = named.Token(1<<32 + 1<<31 + 5)
	n := newLone(t)
	won := n.acquire("x", "a")
	n.reply(won, named.Promise, named.Reply{Report: half}, 2, 3)
	n.reply(won, named.Accepted, named.Reply{}, 2, 3)
	n.want(won, Done, NoReason)
	failed := n.ask(Request{Op: Acquire, Until: n.now}, "y", "a")
	n.reply(failed, named.PrepareRejected, named.Reply{}, 2, 3, 4)
	n.want(failed, Busy, NoReason)
	if !n.needsEra() {
		t.Error("an attempt that has seen no token makes the node forget the ones before")
	}
	n.give(n.now, Event{Era: 1})
	if !n.needsEra() {
		t.Error("an era that comes late makes the node forget larger tokens")
	}
	if n.give(n.now, Event{Era: 2}); n.needsEra() {
		t.Error("a new era is not enough")
	}

	// The acceptor has forgotten the name of a large token; it is its floor now.
	n = newLone(t)
	other := ballot.Incarnation{Node: 2, Restart: 1, Nonce: 1}
	q := named.Request{Name: named.Name{'x'}, Counter: 5, Acquisition: named.Acquisition{'o'}, Token: half,
		Duration: testTTL}
	for _, q.Kind = range []named.Kind{named.Prepare, named.Accept, named.Release} {
		n.table.Handle(n.now, other, q)
	}
	for range 40 {
		n.later(100 * time.Millisecond)
	}
	if n.give(n.now, Event{Era: 1}); n.table.Floor() != half || !n.needsEra() {
		t.Errorf("with floor %v an era is needed: %v", n.table.Floor(), n.needsEra())
	}
}

// N3: with the last token of an era no attempt goes on, and the client is told why.
func TestN3NoTokenIsLeft(t *testing.T) {
	n := newLone(t)
	id := n.acquire("x", "a")
	n.reply(id, named.Promise, named.Reply{Report: 2<<32 - 1}, 2, 3)
	n.want(id, NotApplied, EraUsedUp)
}

// L1: each live lease that was acquired under a text is shown once, however few are looked at a time.
func TestL1WalkShowsEachLeaseOnce(t *testing.T) {
	n := newLone(t)
	want := map[string]int{"x": 1, "y": 1, "z": 1}
	for name := range want {
		n.reply(n.acquire(name, "a"), named.Promise, named.Reply{}, 2, 3)
	}
	for most := 1; most <= 4; most++ {
		got, from := map[string]int{}, uint32(0)
		for page := 0; page == 0 || from != 0; page++ {
			if page > len(want) {
				t.Fatalf("by %d it has no end", most)
			}
			from = n.Walk(n.now, from, most, func(name string, l named.Lease) { got[name]++ })
		}
		if len(got) != len(want) || got["x"] != 1 || got["y"] != 1 || got["z"] != 1 {
			t.Errorf("by %d: %v", most, got)
		}
	}
}

// A node does not run on a clock that the acceptor refuses.
func TestLeasesRefuseABadClock(t *testing.T) {
	if l, err := New(newLone(t).cfg, -1); err == nil || l != nil {
		t.Errorf("%v, %v", l, err)
	}
}
