package runner

import (
	"fmt"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/server/replica/elector"
)

// maxShownChanges is how many of the last tenure changes status shows.
const maxShownChanges = 16

// tenureChanges holds what status shows, oldest first. The elector replaces the slice; readers load it.
type tenureChanges struct {
	shown atomic.Pointer[[]api.TenureChange]
}

// add appends c. Only the elector's loop calls it.
func (t *tenureChanges) add(c api.TenureChange) {
	var list []api.TenureChange
	if old := t.shown.Load(); old != nil {
		list = append(list, (*old)[max(0, len(*old)+1-maxShownChanges):]...)
	}
	list = append(list, c)
	t.shown.Store(&list)
}

func (t *tenureChanges) list() []api.TenureChange {
	if p := t.shown.Load(); p != nil {
		return *p
	}
	return []api.TenureChange{}
}

// noteTenures logs, counts and publishes each beginning and end of a tenure of the master lease here, with its cause.
// It waits for nobody: the logger drops what cannot be written.
func (e *Elector) noteTenures(now time.Duration) {
	for _, c := range e.cfg.Part.TakeTenureChanges() {
		if c.Start != nil {
			e.noteStart(now, c.Start)
		} else {
			e.noteEnd(now, c.End, e.driver.Event())
		}
	}
}

func (e *Elector) noteStart(now time.Duration, s *elector.TenureStart) {
	e.metrics.won.Inc()
	e.metrics.starts.WithLabelValues(s.How.String()).Inc()
	e.cfg.Logger.Info().Uint64("tenure", s.Tenure).Uint64("before", uint64(s.Before)).Str("after", s.How.String()).
		Dur("ownerless_ms", s.Ownerless).Msg("won the master lease: " + s.String())
	e.tenures.add(api.TenureChange{Time: wall(now, s.At), Event: api.TenureWon, Cause: s.How.String(), Detail: s.String(),
		Before: uint64(s.Before), OwnerlessMS: s.Ownerless.Milliseconds()})
}

// noteEnd notes the end of a tenure. by is the event of the round that has ended it.
func (e *Elector) noteEnd(now time.Duration, end *elector.TenureEnd, by *elector.Event) {
	detail := end.String()
	if r := by.Release; r != nil && r.Next != 0 && end.Cause.Released() {
		detail += fmt.Sprintf(", to node %d", r.Next)
	}
	if g := by.LetGo; end.Cause == elector.CauseNoProgress && g.Tenure == end.Tenure { // the other causes say it all
		detail += ", " + g.String()
	}
	e.metrics.ends.WithLabelValues(end.Cause.String()).Inc()
	line := e.cfg.Logger.Warn()
	if end.Cause.Released() {
		line = e.cfg.Logger.Info()
	}
	line.Uint64("tenure", end.Tenure).Str("cause", end.Cause.String()).Dur("held_ms", end.Held).Dur("late_ms", end.Late).
		Msg("lost the master lease: " + detail)
	e.tenures.add(api.TenureChange{Time: wall(now, end.At), Event: api.TenureLost, Cause: end.Cause.String(),
		Detail: detail, HeldMS: end.Held.Milliseconds()})
}

// noteEvent counts and logs what the round's event has done to the lease, if that is remarkable.
func (e *Elector) noteEvent() {
	if e.driver.HasLetGo() {
		g := e.driver.Event().LetGo
		e.metrics.letGo.WithLabelValues(g.Reason).Inc()
		if g.Reason == elector.ReasonHung {
			e.cfg.Health.hangs()
		}
		e.cfg.Logger.Warn().Str("reason", g.String()).Uint64("tenure", g.Tenure).
			Msg("this node lets go of the master lease, and stands back")
	}
	if e.driver.Cleared() {
		e.cleared.Add(1)
		e.metrics.crashReleased.Inc()
		e.cfg.Logger.Info().Stringer("owner", e.driver.Event().Crash.Owner).
			Msg("the owner of the master lease has crashed, says its guardian: its lease is released here")
	}
}

// noteLateness records how late the loop woke: a machine that does not schedule the process in time loses its lease,
// and whoever looks for the reason should find it.
func (e *Elector) noteLateness(late time.Duration, gap elector.Gap) {
	e.metrics.late.Observe(max(0, late.Seconds()))
	if late > e.cfg.LeaseTime/4 {
		e.cfg.Logger.Warn().Dur("late_ms", late).Dur("jumped_ms", gap.Jumped).Dur("processor_ms", gap.Processor).
			Dur("waited_ms", gap.Waited).Int64("faults", gap.Faults).
			Msg("the lease loop was not scheduled in time: this machine is overloaded, or was suspended")
	}
}

// wall returns the wall clock's time at a reading of the elapsed clock, for people.
func wall(now, at time.Duration) time.Time { return time.Now().Add(at - now).UTC() }
