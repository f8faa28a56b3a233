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

// BoundFor returns the bound of M6 for a lease time of the master lease: how long its holder may get nowhere.
func BoundFor(leaseTime time.Duration) time.Duration { return max(4*leaseTime, 2*time.Second) }

// View is what the rest of the node shows the elector, as of a reading of the clock.
type View struct {
	Distrusted bool          // the clock cannot be trusted
	Barred     bool          // the log part bars fresh attempts
	Ticked     time.Duration // reading at which the log part last ticked; 0: it has not
	// Able returns the reading at which another voter last reported that it is able or fit, of the reports that the log
	// part has not taken; 0: none has. It is called only while the log part does not tick.
	Able func() time.Duration
}

// look takes a view. This node starts no fresh attempt while the clock cannot be trusted, the log part bars it, or the
// log hangs. While the clock cannot be trusted it takes no message of others either.
func (e *Part) look(now time.Duration, v View) {
	e.view, e.hangs = v, v.logHangs(now, BoundFor(e.cfg.Duration))
	e.barred = v.Distrusted || v.Barred || e.hangs
}

// finds returns what the elector lets go of by itself: a lease that it holds by a clock that cannot be trusted, or
// while the log hangs (M6).
func (e *Part) finds(now time.Duration) LetGo {
	switch tenure := e.State(now).Tenure; {
	case tenure == 0:
		return LetGo{}
	case e.view.Distrusted:
		return LetGo{Tenure: tenure, Reason: ReasonClock}
	case e.hangs:
		return LetGo{Tenure: tenure, Reason: ReasonHung, For: now - e.view.Ticked}
	}
	return LetGo{}
}

// logHangs reports whether the log part has not ticked for a bound, in a disk call or for want of a processor, and
// another voter has reported since that it is able or fit. The log part is not asked to step down: it acts by what is
// published, and finds no tenure there when it goes on.
func (v *View) logHangs(now, bound time.Duration) bool {
	if v.Ticked == 0 || now-v.Ticked < bound {
		return false
	}
	able := v.Able()
	return able != 0 && now-able < bound/4
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
	ReasonHung    = "hung" // the log loop itself, as the elector finds it
	ReasonNoVoter = "no voter any more"
	ReasonDiffers = "differs"                     // its state is not that of the others
	ReasonClock   = "its clock cannot be trusted" // as the elector finds it
)

// LetGoReasons returns all reasons of a LetGo.
func LetGoReasons() []string {
	return []string{ReasonUnready, ReasonBehind, ReasonStuck, ReasonHung, ReasonNoVoter, ReasonDiffers, ReasonClock}
}
