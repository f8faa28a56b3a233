package sim

import (
	"slices"
	"time"

	"tenure/lease"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
)

// electorLoop is the loop of the master lease of one process: it carries out the effects of the elector's driver.
type electorLoop struct {
	*machine
	own        uint64 // the run that the loop belongs to
	loops      *random
	net        *network
	end        *endpoint
	board      *board
	progress   *progress
	poke       func() // has the log loop see what is published
	inForce    func(part int, number uint64, excluding time.Duration)
	distrusted func() bool // the clock cannot be trusted

	elector  *elector.Part
	round    *elector.Round
	effect   effect.Effect    // to be carried out next
	standing replica.Standing // what the log loop shows
	reports  replica.Reports  // what the others say, for the log loop
	inbox    []leaseEvent
	about    leaseEvent // what the round is about
	busy     bool       // somebody runs the loop, or the processor was lost in it
	timer    timer
	noted    []uint64 // what the process' guardian would release
}

// leaseEvent is one input of the loop; the zero event is the timer.
type leaseEvent struct {
	message   *lease.Message
	nudged    bool
	standBack time.Duration
	release   *handOver
	crash     *crash
	letGo     elector.LetGo // with Tenure 0: none
	members   *members.InForce

	came time.Duration // reading of the node's clock
}

// put queues an event.
func (l *electorLoop) put(e leaseEvent) {
	if len(l.inbox) >= elector.MaxEvents {
		return
	}
	e.came = l.reading()
	l.inbox = append(l.inbox, e)
	l.loop()
}

// loop runs until no event waits, the processor is lost, or the process has ended. The processor may be lost between
// any two effects.
func (l *electorLoop) loop() {
	if l.busy {
		return
	}
	l.busy = true
	for l.running && l.run == l.own && (l.effect != effect.Take || len(l.inbox) > 0) {
		l.do(l.effect)
		l.effect = l.round.Next()
		d, long := l.gap(l.loops, l.effect)
		if long {
			l.lags(d)
		}
		if d > 0 && l.effect != effect.Take {
			l.later(kindLater, d, func() {
				l.busy = false
				l.loop()
			})
			return
		}
	}
	l.busy = false
}

// do carries out an effect.
func (l *electorLoop) do(e effect.Effect) {
	r := l.round
	switch e {
	case effect.Take:
		l.about = l.inbox[0]
		l.inbox = slices.Delete(l.inbox, 0, 1) // which keeps its memory
		r.Add(l.about.event())
	case effect.Clock:
		r.Read(l.reading(), elector.View{Distrusted: l.distrusted(), Barred: l.standing.Barred, Ticked: l.standing.At,
			Able: func() time.Duration { return l.reports.Able(l.end.drive.members.Voters()) }})
	case effect.Lease:
		l.noteEvent()
		l.publish(r.State())
	case effect.Tenures:
		l.checkCauses()
	case effect.InForce:
		number, excluding := r.InForce()
		l.inForce(0, number, excluding)
	case effect.Note:
		l.noted = l.elector.AppendNoted(l.noted[:0], r.Now())
	case effect.Send:
		l.send()
	case effect.Timer:
		l.setTimer(r.Wake() - r.Now())
	case effect.Done:
		if h := l.about.release; h != nil {
			l.progress.stoodBack(l.machine)
			h.released()
		}
		l.about = leaseEvent{}
	}
}

// event returns e as the driver takes it.
func (e *leaseEvent) event() elector.Event {
	out := elector.Event{Message: e.message, Nudged: e.nudged, StandBack: e.standBack, LetGo: e.letGo,
		Membership: e.members}
	if h := e.release; h != nil {
		out.Release = h.release
	}
	if e.crash != nil {
		out.Crash = &elector.Crash{Owner: e.crash.owner, Counters: e.crash.counters}
	}
	return out
}

// noteEvent looks at what the event of the round has done to the lease.
func (l *electorLoop) noteEvent() {
	if l.round.Cleared() {
		l.engine.effect(Guardian)
	}
	if !l.round.HasLetGo() {
		return
	}
	why := l.round.Event().LetGo
	l.counts.LetGo++
	if why.Reason == elector.ReasonHung {
		l.counts.Hung++
	}
	if why.Reason != elector.ReasonClock {
		l.progress.letGo(l.machine, why)
	}
	if l.trace.on() {
		l.trace.note("lets go: %v", why)
	}
}

// publish publishes what the round has made of the lease, and has the log loop see it.
func (l *electorLoop) publish(s elector.State) {
	changed := l.board.pub.Tenure != s.Tenure
	l.board.publish(l.board.pub.WithLease(s))
	if !changed {
		return
	}
	if s.Tenure != 0 {
		l.progress.won(l.machine)
	}
	if l.trace.on() {
		l.trace.note("tenure %d until %v", s.Tenure, s.Deadline)
	}
	l.poke()
}

// send sends the messages of a round, and before a Release the hints who should try first.
func (l *electorLoop) send() {
	if g := l.round.Event().Release; g != nil && g.Next != 0 {
		l.net.nudge(l.end, g.Next)
	}
	ms := l.round.Messages()
	for i := range ms {
		l.checkLeaves(&ms[i], ms)
		l.checkExcludes(&ms[i])
	}
	l.net.sendLeases(l.end, ms)
}

// checkExcludes checks an answer to an Accept as it leaves: others are excluded for D_A from when the Accept came (T2).
func (l *electorLoop) checkExcludes(m *lease.Message) {
	in := l.about.message
	if m.Kind != lease.KindAccepted || in == nil || in.Kind != lease.KindAccept || in.Ballot != m.Ballot {
		return
	}
	_, left := l.elector.Owner(l.about.came)
	l.mustExclude("master", l.about.came, in.Duration, left)
}

// mustExclude checks that others are excluded for D_A at least from when an Accept for a lease of d came; left is for
// how long they are.
func (m *machine) mustExclude(what string, came, d, left time.Duration) {
	least, err := m.plan.timing.Exclusion(d)
	if err != nil {
		m.fail("error", "node %d: %v", m.id, err)
	}
	if left < least {
		m.fail("excluded from when it came",
			"node %d accepted a lease of %q, and excludes others for %v and not %v from when that Accept came, at %v",
			m.id, what, left, least, came)
	}
}

// checkLeaves checks a lease message as it leaves. When a Release leaves, nobody acts as owner any more (P6). When an
// Accept leaves, the guardian knows its ballot (P7), unless the ballot is released at once.
func (l *electorLoop) checkLeaves(m *lease.Message, all []lease.Message) {
	switch {
	case m.Kind == lease.KindRelease && l.board.held():
		l.fail("released after it was owned", "node %d sends %v, and shows tenure %d until %v",
			l.id, *m, l.board.pub.Tenure, l.board.pub.Deadline)
	case m.Kind == lease.KindAccept && !slices.Contains(l.noted, m.Ballot.Counter):
		for i := range all {
			if all[i].Kind == lease.KindRelease && all[i].Ballot.Counter >= m.Ballot.Counter {
				return
			}
		}
		l.fail("noted before it leaves", "node %d sends %v, and its guardian knows of %v", l.id, *m, l.noted)
	}
}

// checkCauses checks that each end of a tenure has a cause.
func (l *electorLoop) checkCauses() {
	for _, c := range l.elector.TakeTenureChanges() {
		if c.End != nil && c.End.Cause == elector.CauseUnknown {
			l.fail("cause", "node %d lost the lease and does not know why: %+v", l.id, *c.End)
		}
		if l.trace.on() && c.End != nil {
			l.trace.note("lost the lease: %v", *c.End)
		}
	}
}

// setTimer wakes the loop up after d, rarely on time. A timer that fires earlier than asked for is set again; one that
// is set for later than that is replaced.
func (l *electorLoop) setTimer(d time.Duration) {
	at := l.now + l.clock.span(d) + l.loops.between(0, 100*time.Microsecond)
	if l.timer.at != 0 && l.timer.at <= at {
		return
	}
	l.timer.set(l.machine, kindTimer, at, func() { l.put(leaseEvent{}) })
}

// timer is the timer of a loop: setting it again replaces it.
type timer struct {
	at     time.Duration // true time; 0: it is not set
	serial uint64
}

func (t *timer) set(m *machine, k kind, at time.Duration, fire func()) {
	t.at = at
	t.serial++
	serial := t.serial
	m.later(k, at-m.now, func() {
		if t.serial == serial {
			t.at = 0
			fire()
		}
	})
}
