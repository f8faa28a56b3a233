package lease

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Tenure is one unbroken ownership.
type Tenure struct {
	Number   uint64        // rises by one with each fresh win of this incarnation; a renewal keeps it (M1)
	Ballot   ballot.Ballot // under which the lease was last won. Never a fencing token: it can fall after a restart
	Since    time.Duration // reading of the elapsed clock at the fresh win
	Deadline time.Duration // reading of the elapsed clock; at and after it nothing is owned
	Duration time.Duration // D_P of the attempt that won last
}

// Held reports whether the resource is owned at now: read from the stored deadline each time, so that no timer can be
// late (P4). If not, the tenure is zero.
func (p *Proposer) Held(now time.Duration) (Tenure, bool) {
	if now < p.held.Deadline {
		return p.held, true
	}
	return Tenure{}, false
}

// own is P4: with Accepted from a quorum of distinct acceptors, in this ballot and phase, the attempt owns if its
// deadline, asked here and nowhere earlier, is still ahead.
func (p *Proposer) own(now time.Duration, m Message) {
	a := &p.attempt
	if !a.accepting() || m.Ballot != a.ballot || a.answered(m.From) {
		return
	}
	a.votes.Add(m.From)
	if a.phase == phaseWon {
		p.settle()
		return
	}
	if !quorum.Reached(a.under.voters, a.votes) {
		return
	}
	if !a.inTime(now) {
		p.expire()
		return
	}
	p.hold(now, a)
	p.unreleased.restart(a.ballot)
	a.phase = phaseWon
	p.last = End{Reason: EndWon}
	p.settle()
}

// hold is M1's continuity. A win before the old deadline continues the tenure, until the later of both deadlines. A win
// at or after it is a new tenure, however short the gap was, because another owner may have come and gone.
func (p *Proposer) hold(now time.Duration, a *attempt) {
	if !p.held.Ballot.Less(a.ballot) {
		panic(fmt.Sprintf("lease: won ballot %v after %v", a.ballot, p.held.Ballot))
	}
	h := Tenure{Number: p.held.Number, Ballot: a.ballot, Since: p.held.Since, Deadline: a.deadline,
		Duration: a.duration}
	if now < p.held.Deadline {
		h.Deadline = max(p.held.Deadline, h.Deadline)
	} else {
		h.Number, h.Since = h.Number+1, now
	}
	p.held = h
}
