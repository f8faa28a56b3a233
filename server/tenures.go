package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/server/replica"
)

// maxShownChanges is how many of the last tenure changes status shows.
const maxShownChanges = 16

// tenureChanges holds what status shows, oldest first. The lease loop replaces the slice; readers load it.
type tenureChanges struct {
	shown atomic.Pointer[[]api.TenureChange]
}

// add appends c. Only the lease loop calls it.
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
// by is the event of this round. It waits for nobody: the logger drops what cannot be written.
func (n *Node) noteTenures(now time.Duration, by *replica.ElectorEvent) {
	for _, c := range n.elector.TakeTenureChanges() {
		if c.Start != nil {
			n.noteStart(now, c.Start)
		} else {
			n.noteEnd(now, c.End, by)
		}
	}
}

func (n *Node) noteStart(now time.Duration, s *replica.TenureStart) {
	n.metrics.leaseWon.Inc()
	n.metrics.tenureStarts.WithLabelValues(s.How.String()).Inc()
	n.log.Info().Uint64("tenure", s.Tenure).Uint64("before", uint64(s.Before)).Str("after", s.How.String()).
		Dur("ownerless_ms", s.Ownerless).Msg("won the master lease: " + s.String())
	n.tenures.add(api.TenureChange{Time: wall(now, s.At), Event: api.TenureWon, Cause: s.How.String(), Detail: s.String(),
		Before: uint64(s.Before), OwnerlessMS: s.Ownerless.Milliseconds()})
}

func (n *Node) noteEnd(now time.Duration, e *replica.TenureEnd, by *replica.ElectorEvent) {
	detail := e.String()
	if r := by.Release; r != nil && r.Next != 0 && e.Cause.Released() {
		detail += fmt.Sprintf(", to node %d", r.Next)
	}
	if g := by.LetGo; e.Cause == replica.CauseNoProgress && g.Tenure == e.Tenure {
		detail += ", " + g.String()
	}
	n.metrics.tenureEnds.WithLabelValues(e.Cause.String()).Inc()
	line := n.log.Warn()
	if e.Cause.Released() {
		line = n.log.Info()
	}
	line.Uint64("tenure", e.Tenure).Str("cause", e.Cause.String()).Dur("held_ms", e.Held).Dur("late_ms", e.Late).
		Msg("lost the master lease: " + detail)
	n.tenures.add(api.TenureChange{Time: wall(now, e.At), Event: api.TenureLost, Cause: e.Cause.String(), Detail: detail,
		HeldMS: e.Held.Milliseconds()})
}

// wall is the wall clock's time at a reading of the elapsed clock, for people.
func wall(now, at time.Duration) time.Time { return time.Now().Add(at - now).UTC() }
