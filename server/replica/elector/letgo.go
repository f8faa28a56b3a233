package elector

import (
	"fmt"
	"time"
)

// LetGo is a decision to give the lease up (M6).
type LetGo struct {
	Tenure uint64
	Reason string // one of those below
	For    time.Duration
}

// cause is that of the end of the tenure.
func (g LetGo) cause() Cause {
	switch g.Reason {
	case ReasonNoVoter:
		return CauseNoVoter
	case ReasonDiffers:
		return CauseDiffers
	case ReasonClock:
		return CauseClock
	}
	return CauseNoProgress
}

// String returns the reason for people: "stuck for 4s".
func (g LetGo) String() string {
	return fmt.Sprintf("%s for %v", g.Reason, g.For.Round(100*time.Millisecond))
}

// The reasons of a LetGo.
const (
	ReasonUnready = "unready"
	ReasonBehind  = "behind" // unready, and only a snapshot would help: it does not wait for the bound
	ReasonStuck   = "stuck"
	ReasonHung    = "hung" // the log loop itself, as the runner finds it
	ReasonNoVoter = "no voter any more"
	ReasonDiffers = "differs"                     // its state is not that of the others
	ReasonClock   = "its clock cannot be trusted" // as the runner finds it
)

// LetGoReasons returns all reasons of a LetGo.
func LetGoReasons() []string {
	return []string{ReasonUnready, ReasonBehind, ReasonStuck, ReasonHung, ReasonNoVoter, ReasonDiffers, ReasonClock}
}
