package lease

import "time"

// Resend is P5's repetition: the attempt's Prepare or Accept once more, unchanged, to the voters that have not
// answered. Accept is repeated after a win too, while that lease lasts: a lost one would leave an acceptor with an
// older record. An attempt in progress whose deadline has passed is abandoned instead.
func (p *Proposer) Resend(now time.Duration) []Message {
	if p.attempt.phase == PhaseNone {
		return nil
	}
	if p.attempt.inTime(now) {
		return p.unanswered()
	}
	if p.attempt.busy() {
		p.expire()
	} else {
		p.attempt = attempt{}
	}
	return nil
}

// Abandon gives up the attempt in progress, if there is one, and keeps the lease already held (P5).
func (p *Proposer) Abandon() {
	if p.attempt.busy() {
		p.abandon(End{Reason: EndAbandoned})
	}
}

// abandon is P5's end of an attempt: its later replies find another ballot or none. The lease already held lasts until
// its own deadline, and nothing is released: while the base is held, the record of the abandoned ballot may be what
// excludes the others.
func (p *Proposer) abandon(e End) {
	p.attempt = attempt{}
	p.last = e
}

// expire abandons the attempt because its deadline has passed. The memberships in its refusals count all the same: a
// voter that is silent does not make this node any less outdated.
func (p *Proposer) expire() {
	p.abandon(End{Reason: EndExpired, Membership: p.attempt.obstacle.Membership})
}

// refuse is P5's rejection and block: the voter has answered, and not with a vote. The attempt is abandoned when the
// voters that are left cannot make a quorum (paper §3, "cannot get a majority"). A refusal by fewer ends nothing: it
// might as well have been lost, and giving up with Accept out would leave records that block everybody.
func (p *Proposer) refuse(m Message) {
	a := &p.attempt
	preparing := m.Kind == KindPromise || m.Kind == KindPrepareRejected
	if m.Ballot != a.ballot || a.answered(m.From) || (preparing && a.phase != PhasePreparing) ||
		(!preparing && !a.accepting()) {
		return
	}
	a.refused.Add(m.From)
	if a.phase == phaseWon {
		p.settle()
		return
	}
	a.obstacle.add(m, a.under.number)
	if a.under.voters.Len()-a.refused.Len() < a.under.voters.Need() {
		p.abandon(a.obstacle)
	}
}

// add notes what one refusal of an attempt under membership under was about.
func (e *End) add(m Message, under uint64) {
	if m.Ballot.Less(m.Promised) {
		e.Promised = e.Promised.Max(m.Promised)
	}
	if m.Live && (e.Blocker.Ballot.IsZero() || m.LiveLeft < e.Blocker.Left) {
		e.Blocker = Record{Owner: m.LiveOwner, Ballot: m.LiveBallot, Left: m.LiveLeft}
	}
	if m.Membership > under {
		e.Membership = max(e.Membership, m.Membership)
	}
	switch {
	case e.Membership != 0:
		e.Reason = EndOutdated
	case !e.Promised.IsZero():
		e.Reason = EndRejected
	default:
		e.Reason = EndBlocked
	}
}

// settle forgets a won attempt that all voters have answered.
func (p *Proposer) settle() {
	if a := &p.attempt; a.votes.Len()+a.refused.Len() == a.under.voters.Len() {
		p.attempt = attempt{}
	}
}
