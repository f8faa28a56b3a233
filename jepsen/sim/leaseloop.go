package sim

import (
	"slices"
	"time"

	"tenure/lease"
	"tenure/server/replica"
	"tenure/server/wire"
)

// leaseEvent is one input of the lease loop; none is the timer.
type leaseEvent struct {
	message   *lease.Message
	nudged    bool
	standBack time.Duration
	release   *handOver
	crash     *crash
	letGo     replica.LetGo // with Tenure 0: none

	came time.Duration // reading of the node's clock
}

// maxLeaseEvents is the shell's bound: a full inbox drops the newest.
const maxLeaseEvents = 1024

// leaseInput queues an event for the lease loop.
func (n *node) leaseInput(e leaseEvent) {
	p := n.process
	if len(p.leaseIn) >= maxLeaseEvents {
		return
	}
	e.came = n.reading()
	p.leaseIn = append(p.leaseIn, e)
	n.leaseLoop()
}

// leaseLoop runs until no event waits, the processor is lost, or the process has died. It may be lost between any two
// effects.
func (n *node) leaseLoop() {
	p := n.process
	if p == nil || p.leaseBusy {
		return
	}
	p.leaseBusy = true
	for n.process == p && (p.leaseEffect != replica.EffectTake || len(p.leaseIn) > 0) {
		n.doLease(p.leaseEffect)
		p.leaseEffect = p.leaseRound.Next()
		if d, lost := n.gap(p.leaseEffect); lost && p.leaseEffect != replica.EffectTake {
			n.w.at(n, kindLater, d, func() {
				p.leaseBusy = false
				n.leaseLoop()
			})
			return
		}
	}
	p.leaseBusy = false
}

// doLease carries out an effect of the lease loop.
func (n *node) doLease(e replica.Effect) {
	p, r := n.process, n.process.leaseRound
	switch e {
	case replica.EffectTake:
		p.leaseNow = p.leaseIn[0]
		p.leaseIn = p.leaseIn[1:]
		r.Take(p.leaseNow.event())
	case replica.EffectClock:
		r.Read(n.reading(), p.standing.Barred)
	case replica.EffectLease:
		n.noteEvent()
		n.publishLease(r.State())
	case replica.EffectTenures:
		n.checkCauses()
	case replica.EffectNote:
		p.noted = p.elector.AppendNoted(p.noted[:0], r.Now())
	case replica.EffectSend:
		n.sendRound()
	case replica.EffectTimer:
		n.setTimer(r.Wake() - r.Now())
	case replica.EffectDone:
		if h := p.leaseNow.release; h != nil {
			h.released(n)
		}
		p.leaseNow = leaseEvent{}
	}
}

// event is e as the driver takes it.
func (e *leaseEvent) event() replica.ElectorEvent {
	out := replica.ElectorEvent{Message: e.message, Nudged: e.nudged, StandBack: e.standBack, LetGo: e.letGo}
	if h := e.release; h != nil {
		out.Release = &replica.Release{StandBack: h.standBack, Why: h.why(), Next: h.next}
	}
	if e.crash != nil {
		out.Crash = &replica.Crash{Owner: e.crash.owner, Counters: e.crash.counters}
	}
	return out
}

// noteEvent looks at what the event of the round has done to the lease.
func (n *node) noteEvent() {
	r := n.leaseRound
	if r.Cleared() {
		n.w.effect(Guardian)
	}
	if r.HasLetGo() {
		g := r.Event().LetGo
		n.w.counts.LetGo++
		n.w.mayLetGo(n, g)
		if n.w.trace.on() {
			n.w.trace.note("lets go: %v", g)
		}
	}
}

// publishLease publishes what the round has made of the lease, and has the log loop see it.
func (n *node) publishLease(s replica.LeaseState) {
	changed := n.pub.Tenure != s.Tenure
	n.publish(n.pub.WithLease(s.Tenure, s.Deadline))
	if !changed {
		return
	}
	if s.Tenure != 0 {
		n.w.wins(n)
	}
	if n.w.trace.on() {
		n.w.trace.note("tenure %d until %v", s.Tenure, s.Deadline)
	}
	n.poked = true
	n.wake()
}

// sendRound sends the messages of a round, and before a Release the hints who should try first.
func (n *node) sendRound() {
	r := n.leaseRound
	if g := r.Event().Release; g != nil && g.Next != 0 {
		body := wire.EncodeNudge(wire.Nudge{Node: uint64(g.Next)})
		for _, o := range n.w.nodes {
			if o != n {
				n.w.sendLease(n, o.id, body)
			}
		}
	}
	ms := r.Messages()
	for i := range ms {
		n.checkLeaves(&ms[i], ms)
		n.checkExcludes(&ms[i])
	}
	n.w.sendLeases(n, ms)
}

// checkExcludes looks at an answer to an Accept as it leaves: others are excluded for D_A from when that came (T2).
func (n *node) checkExcludes(m *lease.Message) {
	in := n.leaseNow.message
	if m.Kind != lease.KindAccepted || in == nil || in.Kind != lease.KindAccept || in.Ballot != m.Ballot {
		return
	}
	n.mustExclude("master", n.leaseNow.came, in.Duration, func(came time.Duration) time.Duration {
		_, left := n.elector.Owner(came)
		return left
	})
}

// mustExclude: from when an Accept for a lease of d came, others are excluded for D_A at least. left returns for how
// long they are from a reading on.
func (n *node) mustExclude(what string, came, d time.Duration, left func(time.Duration) time.Duration) {
	least, err := n.w.plan.timing.Exclusion(d)
	if err != nil {
		n.w.fail("error", "node %d: %v", n.id, err)
	}
	if got := left(came); got < least {
		n.w.fail("excluded from when it came", "node %d accepted a lease of %q, and excludes others for %v and not %v from when that Accept came, at %v",
			n.id, what, got, least, came)
	}
}

// checkLeaves looks at a lease message as it leaves: nobody acts as owner any more when its Release leaves (P6), and
// the guardian knows the ballot of an Accept (P7), unless it is released at once.
func (n *node) checkLeaves(m *lease.Message, all []lease.Message) {
	switch {
	case m.Kind == lease.KindRelease && n.pub.Held(n.reading()):
		n.w.fail("released after it was owned", "node %d sends %v, and shows tenure %d until %v", n.id, *m, n.pub.Tenure, n.pub.Deadline)
	case m.Kind == lease.KindAccept && !slices.Contains(n.noted, m.Ballot.Counter):
		for i := range all {
			if all[i].Kind == lease.KindRelease && all[i].Ballot.Counter >= m.Ballot.Counter {
				return
			}
		}
		n.w.fail("noted before it leaves", "node %d sends %v, and its guardian knows of %v", n.id, *m, n.noted)
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
