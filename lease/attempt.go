package lease

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Phase tells how far an attempt is.
type Phase uint8

// The phases of an attempt.
const (
	PhaseNone      Phase = iota // none in progress
	PhasePreparing              // Prepare is out
	PhaseAccepting              // Accept is out
	phaseWon                    // won, but some voter has not answered Accept yet; shown to others as PhaseNone
)

var phaseNames = [...]string{"none", "preparing", "accepting", "won"}

// String names the phase.
func (p Phase) String() string { return phaseNames[p] }

// attempt is one run through P1 to P4. The zero value is no attempt.
type attempt struct {
	phase    Phase
	under    membership // as of P1
	ballot   ballot.Ballot
	base     ballot.Ballot // of the lease held at P1, zero in a fresh attempt
	duration time.Duration // D_P
	deadline time.Duration // reading of the elapsed clock
	votes    quorum.Set    // voters whose answer in this phase counts
	refused  quorum.Set    // voters whose answer in this phase does not
	obstacle End           // what the refusals of this phase were about: the reason, should they leave no quorum
}

// inTime is T1: there is one deadline, stored when Prepare was made, and P3 and P4 both ask here. No timer and no
// later event moves it.
func (a *attempt) inTime(now time.Duration) bool { return now < a.deadline }

func (a *attempt) busy() bool { return a.phase == PhasePreparing || a.phase == PhaseAccepting }

func (a *attempt) accepting() bool { return a.phase == PhaseAccepting || a.phase == phaseWon }

func (a *attempt) answered(n ballot.NodeID) bool { return a.votes.Has(n) || a.refused.Has(n) }

// Reason tells why an attempt ended.
type Reason uint8

// The reasons.
const (
	EndNone      Reason = iota // no attempt has ended yet
	EndWon                     // P4
	EndRejected                // refusals leave no quorum, and some were for a higher promise
	EndBlocked                 // refusals leave no quorum, none for a higher promise
	EndExpired                 // the attempt's deadline passed
	EndAbandoned               // given up by Abandon or by a newer attempt
	EndReleased                // given up by Release
	EndOutdated                // refusals leave no quorum, and some were for a newer membership
)

var reasonNames = [...]string{"none", "won", "rejected", "blocked", "expired", "abandoned", "released",
	"outdated"}

// String names the reason.
func (r Reason) String() string { return reasonNames[r] }

// End tells how an attempt ended. It is for pacing, logs and metrics and steers nothing else.
type End struct {
	Reason   Reason
	Promised ballot.Ballot // EndRejected: the highest that was shown
	Blocker  Record        // the lease in the way that has the least time left, if any was; Left is a hint (L1)
	// Membership is the newest that an acceptor has in force, of EndOutdated and EndExpired, if it is newer than the
	// attempt's: this node is about to learn it.
	Membership uint64
}

// String is one phrase for logs.
func (e End) String() string {
	switch e.Reason {
	case EndOutdated:
		return fmt.Sprintf("outdated: membership %d is in force", e.Membership)
	case EndRejected:
		return fmt.Sprintf("rejected: %v is promised", e.Promised)
	case EndBlocked:
		if e.Blocker.Ballot.IsZero() {
			return "refused"
		}
		return fmt.Sprintf("blocked by %v for about %v", e.Blocker.Owner, e.Blocker.Left)
	}
	return e.Reason.String()
}

// Attempt describes the attempt in progress, and how the one before it ended.
type Attempt struct {
	Phase    Phase
	Ballot   ballot.Ballot // zero if there is none
	Base     ballot.Ballot // zero if it is not a renewal
	Deadline time.Duration // reading of the elapsed clock
	Last     End
}

// Attempt is the state of the attempt in progress. One whose deadline has passed stays until the next Start, Resend
// or reply of a quorum; it can win nothing.
func (p *Proposer) Attempt() Attempt {
	if !p.attempt.busy() {
		return Attempt{Last: p.last}
	}
	a := &p.attempt
	return Attempt{Phase: a.phase, Ballot: a.ballot, Base: a.base, Deadline: a.deadline, Last: p.last}
}
