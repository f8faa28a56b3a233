package named

import (
	"fmt"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Ask is what an owner wants of a node.
type Ask struct {
	Name        Name
	Acquisition Acquisition
	Owner       string        // for people
	Text        string        // the name as people write it
	Duration    time.Duration // D_P
	// Renewal asks only to extend a lease that is held: if no acceptor of a quorum knows it any more, the attempt ends
	// as EndLost.
	Renewal bool
	// AtLeast is what the attempt before this one, if it won nothing, has Reported: this one's token is larger (N2).
	AtLeast Token
	// Membership is the number of the membership that has the voters of the attempt. 0 counts as 1.
	Membership uint64
}

// Phase tells how far an attempt is.
type Phase uint8

// The phases of an attempt.
const (
	Preparing Phase = iota + 1
	Accepting
	Over
)

// End tells how an attempt ended.
type End uint8

// The ends.
const (
	EndNone     End = iota // it has not
	EndWon                 // P4
	EndRejected            // a higher promise or token, or another renewal, was in the way: try again
	EndBlocked             // refusals leave no quorum: somebody else owns
	EndLost                // a renewal found its lease gone
	EndExpired             // the deadline passed: no quorum answered in time
	EndUsedUp              // the era has no token left (N3): a new one is needed first
	EndFull                // acceptors have no space for the name
)

var endNames = [...]string{"none", "won", "rejected", "blocked", "lost", "expired", "era used up", "no space"}

// String names the end.
func (e End) String() string { return endNames[e] }

// Attempt is one run through P1 to P4 for one name. It holds no pointers but the owner's text: a copy is independent.
type Attempt struct {
	ask      Ask
	voters   quorum.Set
	counter  uint64
	phase    Phase
	end      End
	deadline time.Duration // reading of the elapsed clock, stored before Prepare exists (T1)
	votes    quorum.Set    // voters whose answer in this phase counts
	refused  quorum.Set    // voters whose answer in this phase does not
	reported Token         // largest report so far (N2)
	spent    Token         // largest that some acceptor would refuse, by AtLeast and by what promises said
	ownToken Token         // largest token of the acquisition's own live record, as reported in promises
	proposed Token         // what Accept carries
	asked    bool          // an Accept was made
	full     bool          // some refusal was for want of space
	known    bool          // some acceptor has a live record of the acquisition
	promised uint64        // highest counter shown in a rejection
	blocker  Lease         // the live lease of somebody else that has the least time left
	lefts    [quorum.MaxVoters]time.Duration
	blocks   int // entries of lefts: how long the records in the way last yet
}

// Begin is P1: an attempt to own for ask.Duration under a fresh ballot, whose counter the caller has never used in this
// run. Its deadline counts from now, and is stored before any Prepare exists.
func Begin(now time.Duration, ask Ask, voters quorum.Set, counter uint64) Attempt {
	if ask.Acquisition.IsZero() || ask.Duration <= 0 || counter == 0 {
		panic(fmt.Sprintf("named: attempt %d of acquisition %v for %v", counter, ask.Acquisition, ask.Duration))
	}
	return Attempt{
		ask: ask, voters: voters, counter: counter, phase: Preparing, deadline: now + ask.Duration,
		reported: ask.AtLeast, spent: ask.AtLeast,
	}
}

// inTime is T1: there is one deadline; P3 and P4 both ask here.
func (a *Attempt) inTime(now time.Duration) bool { return now < a.deadline }

// Answered reports whether n has answered in this phase, or in the last one if the attempt is over.
func (a *Attempt) Answered(n ballot.NodeID) bool { return a.votes.Has(n) || a.refused.Has(n) }

// Requests is P5's repetition as well as the first sending: this phase's request, and the voters that have not answered
// it. None when the attempt is over; an attempt whose deadline has passed is abandoned.
func (a *Attempt) Requests(now time.Duration) (Request, quorum.Set) {
	if a.phase != Over && !a.inTime(now) {
		a.finish(EndExpired)
	}
	var to quorum.Set
	if a.phase == Over {
		return Request{}, to
	}
	for i := range a.voters.Len() {
		if n := a.voters.At(i); !a.Answered(n) {
			to.Add(n)
		}
	}
	q := Request{Kind: Prepare, Name: a.ask.Name, Counter: a.counter, Membership: a.ask.Membership}
	if a.phase == Accepting {
		q.Kind, q.Acquisition, q.Token = Accept, a.ask.Acquisition, a.proposed
		q.Duration, q.Owner = a.ask.Duration, a.ask.Owner
		q.Text = a.ask.Text
	}
	return q, to
}

// Handle takes one reply to the run that began the attempt: a reply to a run before must not get here, since counters
// begin anew in each. True: the attempt is in another phase, or over; if it is not over, Requests must be sent.
func (a *Attempt) Handle(now time.Duration, from ballot.NodeID, r Reply) (moved bool) {
	if r.Counter != a.counter || r.Name != a.ask.Name || a.phase == Over || !a.voters.Has(from) || a.Answered(from) ||
		r.Check() != nil {
		return false
	}
	before := a.phase
	switch {
	case a.phase == Preparing && r.Kind == Promise:
		a.promise(now, from, &r)
	case a.phase == Preparing && r.Kind == PrepareRejected, a.phase == Accepting && r.Kind == AcceptRejected:
		a.refuse(from, &r)
	case a.phase == Accepting && r.Kind == Accepted:
		a.own(now, from)
	}
	a.abandon()
	return a.phase != before
}

// promise is P2: distinct acceptors are counted, never messages.
func (a *Attempt) promise(now time.Duration, from ballot.NodeID, r *Reply) {
	if !a.open(r) {
		a.refuse(from, r)
		return
	}
	a.reported = max(a.reported, r.Report)
	if r.Live {
		a.known, a.ownToken = true, max(a.ownToken, r.LiveToken)
	}
	if !r.Live || r.LiveToken < r.Report {
		a.spent = max(a.spent, r.Report)
	}
	a.votes.Add(from)
	a.propose(now)
}

// open is P2's check with N1 in place of the base: no live lease, or one of this very acquisition, which is never
// used again after its release.
func (a *Attempt) open(r *Reply) bool { return !r.Live || r.LiveAcquisition == a.ask.Acquisition }

// propose is P3: with open promises from a quorum, and in time, Accept goes to all voters.
func (a *Attempt) propose(now time.Duration) {
	if !quorum.Reached(a.voters, a.votes) {
		return
	}
	// A lease that is held has a live record with a quorum of acceptors, one of them in this quorum. But it may have
	// come to be held after some of these have promised: another renewal was quicker.
	if a.ask.Renewal && a.ownToken == 0 {
		if a.known {
			a.finish(EndRejected)
		} else {
			a.finish(EndLost)
		}
		return
	}
	if !a.inTime(now) {
		a.finish(EndExpired)
		return
	}
	t, ok := a.token()
	if !ok {
		a.finish(EndUsedUp)
		return
	}
	a.phase, a.proposed, a.asked = Accepting, t, true
	a.votes, a.refused, a.blocks, a.full, a.blocker = quorum.Set{}, quorum.Set{}, 0, false, Lease{}
}

// token is N2: the largest report plus one; the own live record's token again if it is larger than what anything else
// reported. An acceptor that reports just that token for another reason, as one that has missed the last renewal does,
// would refuse it.
func (a *Attempt) token() (Token, bool) {
	if a.ownToken > a.spent {
		return a.ownToken, true
	}
	return a.reported.next()
}

// own is P4: with Accepted from a quorum of distinct acceptors the attempt owns if its deadline, asked here, is still
// ahead.
func (a *Attempt) own(now time.Duration, from ballot.NodeID) {
	a.votes.Add(from)
	if !quorum.Reached(a.voters, a.votes) {
		return
	}
	if !a.inTime(now) {
		a.finish(EndExpired)
		return
	}
	a.finish(EndWon)
}

// refuse counts a voter out, and keeps why.
func (a *Attempt) refuse(from ballot.NodeID, r *Reply) {
	a.refused.Add(from)
	a.reported = max(a.reported, r.Report)
	a.promised = max(a.promised, r.Promised)
	a.full = a.full || r.Full
	a.known = a.known || r.Live && r.LiveAcquisition == a.ask.Acquisition
	if r.Live && r.LiveAcquisition != a.ask.Acquisition {
		a.lefts[a.blocks] = r.LiveLeft
		a.blocks++
		if a.blocker.Acquisition.IsZero() || r.LiveLeft < a.blocker.Left {
			a.blocker = Lease{Acquisition: r.LiveAcquisition, Owner: r.LiveOwner, Token: r.LiveToken, Left: r.LiveLeft}
		}
	}
}

// abandon is P5: the attempt is over when the voters that are left cannot make a quorum. A renewal first hears a
// quorum.
func (a *Attempt) abandon() {
	if a.phase != Over && a.voters.Len()-a.refused.Len() < a.voters.Need() && (a.known || !a.mayBeHeld()) {
		a.conclude()
	}
}

// mayBeHeld reports whether the attempt renews a lease that may still be held: some acceptor has a live record of the
// lease, or fewer than a quorum have answered. Records of other owners prove nothing: after voters were removed, a
// former owner's record may block a quorum, at an acceptor that its release never reached.
func (a *Attempt) mayBeHeld() bool {
	return a.ask.Renewal && (a.known || a.votes.Len()+a.refused.Len() < a.voters.Need())
}

// conclude ends the attempt for the reasons that refusals gave.
func (a *Attempt) conclude() {
	switch {
	case a.mayBeHeld() && !a.full:
		a.finish(EndRejected)
	case a.voters.Len()-a.blocks < a.voters.Need():
		a.finish(EndBlocked)
	case a.full:
		a.finish(EndFull)
	default:
		a.finish(EndRejected)
	}
}

func (a *Attempt) finish(e End) { a.phase, a.end = Over, e }

// GiveUp ends the attempt for the reasons of its refusals, if there are any. Voters that have not answered by then may
// be gone, and waiting for them would last until the deadline.
func (a *Attempt) GiveUp() {
	if a.phase != Over && a.refused.Len() > 0 {
		a.conclude()
	}
}

// Abandon gives the attempt up: no later reply can win it.
func (a *Attempt) Abandon() {
	if a.phase != Over {
		a.finish(EndExpired)
	}
}

// Phase is how far the attempt is.
func (a *Attempt) Phase() Phase { return a.phase }

// End is how the attempt ended, EndNone while it has not.
func (a *Attempt) End() End { return a.end }

// Deadline is the reading of this node's elapsed clock until which a won attempt owns (P4).
func (a *Attempt) Deadline() time.Duration { return a.deadline }

// Counter is that of the attempt's ballot.
func (a *Attempt) Counter() uint64 { return a.counter }

// Token is the token that a won attempt owns under.
func (a *Attempt) Token() Token { return a.proposed }

// Reported is the largest token that any acceptor has reported: the AtLeast of the next attempt (N2).
func (a *Attempt) Reported() Token { return a.reported }

// Promised is the highest counter that a rejection has shown: the next attempt goes above it (T4).
func (a *Attempt) Promised() uint64 { return a.promised }

// Asked reports whether Accept may have reached somebody.
func (a *Attempt) Asked() bool { return a.asked }

// Blocker is the lease in the way that has the least time left, if any was; Left is a hint (L1).
func (a *Attempt) Blocker() (Lease, bool) { return a.blocker, !a.blocker.Acquisition.IsZero() }

// RetryIn is how long records will be in the way of a quorum, by what acceptors said: a hint.
func (a *Attempt) RetryIn() time.Duration {
	// With k voters out of the way, as many of the others have to end as a quorum lacks.
	lefts := a.lefts
	slices.Sort(lefts[:a.blocks])
	lack := a.voters.Need() - (a.voters.Len() - a.blocks)
	if lack <= 0 {
		return 0
	}
	return lefts[lack-1]
}

// Withdrawal returns the request to undo, at all voters, an attempt that is over, has won nothing and had Accept out.
// It is a courtesy: the records would run out by themselves.
func (a *Attempt) Withdrawal() (Request, bool) {
	if a.phase != Over || a.end == EndWon || !a.asked {
		return Request{}, false
	}
	return Request{Kind: Withdraw, Name: a.ask.Name, Counter: a.counter, Acquisition: a.ask.Acquisition}, true
}
