package elector

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

// tenures follows this node's tenures of the master lease and finds out why each begins and ends. The elector feeds it
// with its observations. The causes found are for people and steer nothing. tenures remembers one tenure and the
// changes that were not taken yet.
type tenures struct {
	self   ballot.Incarnation
	voters quorum.Set
	// slack is D_A − D_P: how much longer a record excludes others than its owner owns.
	slack time.Duration

	tenure   uint64 // of the tenure that goes on; 0: none does
	since    time.Duration
	renewed  ballot.Ballot // under which it was last won
	renewAt  time.Duration // the next renewal is due
	deadline time.Duration

	// Since the last win:
	due     time.Duration // the loop should wake by then; 0: it has
	missed  time.Duration // how long the loop slept between renewAt and deadline although it was due
	late    time.Duration
	lateGap Gap
	gap     Gap // of the step under way
	tries   int
	heard   quorum.Set // votes in the phase of the last try
	refused quorum.Set // refusals in all tries
	shown   lease.End  // what they were about

	former  former
	changes []TenureChange
}

// former is the newest tenure other than the current one of this node, as far as records at acceptors show it.
type former struct {
	owner  ballot.Incarnation
	ballot ballot.Ballot
	until  time.Duration // end of its record here; when it was heard to have ended, if how says so
	how    Ending        // EndingNone: its record runs, or has run out
}

// maxTenureChanges bounds the changes that wait for TakeTenureChanges. The oldest is dropped.
const maxTenureChanges = 16

// step begins a step of the lease loop at now: it notes by how much the loop was late, and whether the tenure has run
// out since. Only the first call in a step counts lateness.
func (t *tenures) step(now time.Duration, p *lease.Proposer) {
	if t.due != 0 && now > t.due && t.tenure != 0 {
		t.missed += max(0, min(now, t.deadline)-max(t.due, t.renewAt))
		if late := now - t.due; late > t.late && now > t.renewAt {
			t.late, t.lateGap = late, t.gap
		}
	}
	t.due, t.gap = 0, Gap{}
	t.watch(now, p)
}

// watch compares the proposer's holding with the one known. It comes after every input too.
func (t *tenures) watch(now time.Duration, p *lease.Proposer) {
	h, held := p.Held(now)
	if t.tenure != 0 && (!held || h.Number != t.tenure) {
		t.end(t.deadline, t.whyLapsed())
	}
	switch {
	case !held:
	case t.tenure == 0:
		t.begin(now, h)
		t.extended(h, p.RenewAt())
	case h.Ballot != t.renewed:
		t.extended(h, p.RenewAt())
	}
}

func (t *tenures) begin(now time.Duration, h lease.Tenure) {
	s := TenureStart{Tenure: h.Number, At: now, Before: t.former.owner.Node, How: t.former.how}
	switch f := t.former; {
	case f.owner.Node == 0:
	case f.how != EndingNone:
		s.Ownerless = max(0, now-f.until)
	case f.until > now:
		s.How = EndingUnheard
	default:
		s.How, s.Ownerless = EndingExpired, max(0, now-(f.until-t.slack))
	}
	t.add(TenureChange{Start: &s})
	t.tenure, t.since = h.Number, now
}

// extended takes a win: what went wrong before it is forgotten.
func (t *tenures) extended(h lease.Tenure, renewAt time.Duration) {
	*t = tenures{self: t.self, voters: t.voters, slack: t.slack, former: t.former, changes: t.changes, due: t.due,
		gap:    t.gap,
		tenure: t.tenure, since: t.since, renewed: h.Ballot, deadline: h.Deadline, renewAt: renewAt}
}

// released is told that the owner gives its lease up at now, and why. It comes before the proposer's Release.
func (t *tenures) released(now time.Duration, why Cause) {
	if t.tenure != 0 {
		t.end(now, why)
	}
}

func (t *tenures) end(at time.Duration, why Cause) {
	e := TenureEnd{Tenure: t.tenure, At: at, Held: at - t.since, Cause: why}
	if !why.Released() {
		e.Late, e.Gap, e.Tries, e.Refused = t.late, t.lateGap, t.tries, t.refused
		e.Promised, e.Owner = t.shown.Promised, t.shown.Blocker.Owner
		if t.tries > 0 {
			e.Unanswered = t.unanswered()
		}
	}
	t.add(TenureChange{End: &e})
	t.former = former{owner: t.self, ballot: t.renewed, until: at, how: EndingOwn}
	t.tenure = 0
}

// whyLapsed is why a tenure was not renewed in time. A loop that slept through half of the time for the renewal is the
// first cause. Next come missing answers, if they alone prevented a quorum, and then refusals.
func (t *tenures) whyLapsed() Cause {
	spare := t.voters.Len() - t.voters.Need() // voters without whose vote a renewal succeeds
	unanswered := 0
	if t.tries > 0 {
		unanswered = t.unanswered().Len()
	}
	switch {
	case t.missed >= (t.deadline-t.renewAt)/2 || t.tries == 0 && t.late > 0:
		if t.lateGap.Jumped >= t.late/2 {
			return CauseClockJump
		}
		return CauseLoopLate
	case unanswered > spare:
		return CauseUnanswered
	case t.refused.Len() > 0:
		return CauseRefused
	case unanswered > 0:
		return CauseUnanswered
	case t.late > 0:
		return CauseLoopLate
	}
	return CauseUnknown
}

// unanswered returns the voters from which the last try had no answer.
func (t *tenures) unanswered() quorum.Set {
	var s quorum.Set
	for i := range t.voters.Len() {
		if id := t.voters.At(i); !t.heard.Has(id) && !t.refused.Has(id) {
			s.Add(id)
		}
	}
	return s
}

// follow goes over to other voters, and forgets its notes about former ones.
func (t *tenures) follow(voters quorum.Set) {
	t.voters, t.heard, t.refused = voters, t.heard.In(voters), t.refused.In(voters)
}

// tried takes the start of an attempt. It comes before its messages.
func (t *tenures) tried() {
	t.tries++
	t.heard = quorum.Set{}
}

// answered takes a reply to the proposer, with the attempt before it and the phase after it.
func (t *tenures) answered(now time.Duration, m lease.Message, a lease.Attempt, after lease.Phase) {
	if m.Live {
		t.recorded(lease.Record{Owner: m.LiveOwner, Ballot: m.LiveBallot, Left: m.LiveLeft}, now, false)
	}
	preparing := m.Kind == lease.KindPromise || m.Kind == lease.KindPrepareRejected
	if m.Ballot != a.Ballot || !t.voters.Has(m.From) || preparing != (a.Phase == lease.PhasePreparing) {
		return
	}
	foreign := m.Live && (m.LiveOwner != t.self || m.LiveBallot.Less(a.Base))
	switch {
	case m.Kind == lease.KindAccepted, m.Kind == lease.KindPromise && !foreign:
		t.heard.Add(m.From)
	default:
		t.refused.Add(m.From)
		if m.Ballot.Less(m.Promised) {
			t.shown.Promised = t.shown.Promised.Max(m.Promised)
		}
		if m.Live && m.LiveOwner != t.self {
			t.shown.Blocker.Owner = m.LiveOwner
		}
	}
	if a.Phase == lease.PhasePreparing && after == lease.PhaseAccepting {
		t.heard = quorum.Set{}
	}
}

// recorded takes a live record of the own acceptor, or one that another has told of.
func (t *tenures) recorded(r lease.Record, now time.Duration, own bool) {
	f := &t.former
	switch same := r.Owner == f.owner; {
	case r.Owner == t.self:
	case same && f.how == EndingNone && !r.Ballot.Less(f.ballot):
		f.ballot, f.until = r.Ballot, max(f.until, now+r.Left)
	case same && !f.ballot.Less(r.Ballot): // what was heard to have ended, or an older record of it
	case own || now+r.Left > f.until:
		*f = former{owner: r.Owner, ballot: r.Ballot, until: now + r.Left}
	}
}

// gone takes a Release that was heard, from the owner itself or from its guardian.
func (t *tenures) gone(now time.Duration, m lease.Message, how Ending) {
	f := &t.former
	if m.Owner == t.self || m.Owner != f.owner || f.how != EndingNone || m.Ballot.Less(f.ballot) {
		return
	}
	f.until, f.how = min(f.until, now), how
	if f.until < now {
		f.how = EndingNone // it had run out before
	}
}

func (t *tenures) add(c TenureChange) {
	if len(t.changes) == maxTenureChanges {
		t.changes = append(t.changes[:0:0], t.changes[1:]...)
	}
	t.changes = append(t.changes, c)
}

// drain takes out the changes, oldest first.
func (t *tenures) drain() []TenureChange {
	c := t.changes
	t.changes = nil
	return c
}
