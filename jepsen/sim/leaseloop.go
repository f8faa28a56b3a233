package sim

import (
	"time"

	"tenure/lease"
	"tenure/server/replica"
)

// leaseEvent is one input of the lease loop; none is the timer.
type leaseEvent struct {
	message   *lease.Message
	nudged    bool
	standBack time.Duration
	release   *handOver
	crash     *crash
	letGo     replica.LetGo // with Holding 0: none
}

// maxLeaseEvents is the shell's bound: a full inbox drops the newest.
const maxLeaseEvents = 1024

// leaseInput queues an event for the lease loop.
func (n *node) leaseInput(e leaseEvent) {
	p := n.process
	if len(p.leaseIn) >= maxLeaseEvents {
		return
	}
	p.leaseIn = append(p.leaseIn, e)
	n.leaseLoop()
}

// leaseLoop takes the events one by one: the clock is read once for each, and the processor may be lost after that.
func (n *node) leaseLoop() {
	for n.process != nil && !n.leaseBusy && len(n.leaseIn) > 0 {
		p := n.process
		e, now := p.leaseIn[0], n.reading()
		p.leaseIn = p.leaseIn[1:]
		if d, lost := n.gap(); lost {
			p.leaseBusy = true
			n.w.at(n, kindLater, d, func() {
				p.leaseBusy = false
				n.stepLease(now, e)
				n.leaseLoop()
			})
			return
		}
		n.stepLease(now, e)
	}
}

// stepLease is the shell's: one event, a Tick, and what follows from them.
func (n *node) stepLease(now time.Duration, e leaseEvent) {
	p := n.process
	p.elector.SetBarred(p.standing.Barred)
	switch {
	case e.message != nil:
		p.elector.Handle(now, *e.message)
	case e.nudged:
		p.elector.Nudge(now)
	case e.standBack > 0:
		p.elector.StandBack(now, e.standBack)
	case e.release != nil:
		n.publish(p.pub.WithLease(0, 0))
		p.elector.Release(now, e.release.standBack, e.release.why())
	case e.crash != nil:
		n.crashReleased(now, e.crash)
	case e.letGo.Holding != 0:
		n.letGo(now, e.letGo)
	}
	p.elector.Tick(now)
	s := p.elector.State(now)
	changed := p.pub.Holding != s.Holding
	n.publish(p.pub.WithLease(s.Holding, s.Deadline))
	n.checkCauses()
	p.noted = p.elector.AppendNoted(p.noted[:0], now)
	for _, m := range p.elector.Take() {
		n.w.sendLease(n, m.To, leaseEvent{message: &m})
	}
	n.setTimer(p.elector.NextWake(now) - now)
	if e.release != nil {
		e.release.released(n)
	}
	if changed && s.Holding != 0 && n.process == p {
		n.w.wins(n)
	}
	if changed && n.process == p {
		if n.w.trace.on() {
			n.w.trace.note("holding %d until %v", s.Holding, s.Deadline)
		}
		p.poked = true
		n.wake()
	}
}

// checkCauses: each end of a tenure has a cause.
func (n *node) checkCauses() {
	for _, c := range n.elector.TakeTenureChanges() {
		if c.End != nil && c.End.Cause == replica.CauseUnknown {
			n.w.fail("cause", "node %d lost the lease and does not know why: %+v", n.id, *c.End)
		}
		if n.w.trace.on() && c.End != nil {
			n.w.trace.note("lost the lease: %v", *c.End)
		}
	}
}

// setTimer lets the lease loop wake up after d, rarely on time. A timer that fires earlier than asked for is set
// again; one that is set for later than that is replaced.
func (n *node) setTimer(d time.Duration) {
	w, p := n.w, n.process
	at := w.now + n.clock.span(d) + w.loops.between(0, 100*time.Microsecond)
	if p.timer != 0 && p.timer <= at {
		return
	}
	p.timer = at
	p.timers++
	serial := p.timers
	w.at(n, kindTimer, at-w.now, func() {
		if p.timers != serial {
			return
		}
		p.timer = 0
		n.leaseInput(leaseEvent{})
	})
}
