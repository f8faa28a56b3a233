package server

import (
	"runtime"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/wire"
)

// leaseEvent is one input of the lease loop.
type leaseEvent struct {
	replica.ElectorEvent
	done chan struct{} // of a Release: closed when the messages have been handed to the transport
}

// maxLeaseEvents bounds the lease loop's inbox. A full one drops the newest: lease messages are resent.
const maxLeaseEvents = 1024

// leaseView is what status shows of the lease; exact on the owner, a hint elsewhere.
type leaseView struct {
	owner          ballot.NodeID
	excludedFor    time.Duration
	at             time.Duration
	quarantineLeft time.Duration
}

// leaseLoop steps the lease part.
type leaseLoop struct {
	n      *Node
	driver *replica.ElectorRound
	done   chan struct{} // of the round's Release, or nil
	timer  *time.Timer
	due    time.Duration // when the timer fires
	meter  *gapMeter
}

// runLease is the lease loop. It shares nothing with the log loop but the gate, and has a thread of its own, so that
// neither the disk nor a flood of requests stands before a lease message.
func (n *Node) runLease(stop <-chan struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := &leaseLoop{n: n, driver: replica.NewElectorRound(n.elector), timer: time.NewTimer(0), meter: newGapMeter(), due: n.clock.Now()}
	defer l.timer.Stop()
	defer l.meter.close()
	for {
		e := l.driver.Next()
		if e == replica.EffectTake {
			select {
			case <-stop:
				return nil
			case in := <-n.leaseIn:
				l.driver.Take(in.ElectorEvent)
				l.done = in.done
			case <-l.timer.C:
			}
			continue
		}
		l.do(e)
	}
}

// do carries out an effect.
func (l *leaseLoop) do(e replica.Effect) {
	n, now := l.n, l.driver.Now()
	switch e {
	case replica.EffectClock:
		l.readClock()
	case replica.EffectLease:
		n.noteEvent(l.driver)
		n.publishLease(now, l.driver.State())
	case replica.EffectTenures:
		n.noteTenures(now, l.driver.Event())
	case replica.EffectNote:
		n.noteBallots(now)
	case replica.EffectSend:
		n.sendLease(l.driver)
	case replica.EffectTimer:
		l.due = l.driver.Wake()
		l.timer.Reset(l.due - now)
	case replica.EffectDone:
		if l.done != nil {
			close(l.done)
			l.done = nil
		}
	}
}

// readClock reads the clock and what the log loop says, and lets the lease go if that loop hangs.
func (l *leaseLoop) readClock() {
	n, now := l.n, l.n.clock.Now()
	gap := l.meter.read(now)
	n.noteLateness(now-l.due, gap)
	n.elector.Gap(gap)
	if e := l.driver.Event(); *e == (replica.ElectorEvent{}) {
		e.LetGo = n.logHangs(now)
	}
	l.driver.Read(now, n.standing.Load().Barred)
}

// noteLateness records how late the loop woke: a machine that does not schedule the process in time loses its lease,
// and whoever looks for the reason should find it.
func (n *Node) noteLateness(late time.Duration, gap replica.Gap) {
	n.metrics.leaseLate.Observe(max(0, late.Seconds()))
	if late > n.cfg.LeaseTime/4 {
		n.log.Warn().Dur("late_ms", late).Dur("jumped_ms", gap.Jumped).Dur("processor_ms", gap.Processor).Dur("waited_ms", gap.Waited).
			Int64("faults", gap.Faults).Msg("the lease loop was not scheduled in time: this machine is overloaded, or was suspended")
	}
}

// noteEvent counts and logs what the round's event has done to the lease, if that is remarkable.
func (n *Node) noteEvent(r *replica.ElectorRound) {
	if r.HasLetGo() {
		g := r.Event().LetGo
		n.metrics.letGo.WithLabelValues(g.Reason).Inc()
		n.log.Warn().Str("reason", g.String()).Uint64("tenure", g.Tenure).
			Msg("this node gets nowhere as master and another one is able: it lets go of the master lease and stands back")
	}
	if r.Cleared() {
		n.guard.here.Add(1)
		n.metrics.crashReleased.Inc()
		n.log.Info().Stringer("owner", r.Event().Crash.Owner).
			Msg("the owner of the master lease has crashed, says its guardian: its lease is released here")
	}
}

func (n *Node) publishLease(now time.Duration, s replica.LeaseState) {
	before := n.gate.load()
	if n.gate.setLease(s.Tenure, s.Deadline) {
		n.nudge()
	}
	if s.Tenure != 0 && s.Deadline != before.Deadline {
		n.metrics.leaseRenewal.Observe((now - (s.Deadline - n.cfg.LeaseTime)).Seconds())
	}
	owner, left := n.elector.Owner(now)
	n.leaseView.Store(&leaseView{owner: owner, excludedFor: left, at: now,
		quarantineLeft: n.elector.QuarantineLeft(now)})
}

// sendLease sends what a round has to send: before a Release the hint who should try first.
func (n *Node) sendLease(r *replica.ElectorRound) {
	if g := r.Event().Release; g != nil && g.Next != 0 {
		body := wire.EncodeNudge(wire.Nudge{Node: uint64(g.Next)})
		for _, p := range n.peers {
			n.transport.SendLease(p, body)
		}
	}
	for _, m := range r.Messages() {
		n.transport.SendLease(m.To, wire.EncodeLease(&m))
	}
}

// LeaseFrame takes a frame from the lease connection of a peer.
func (n *Node) LeaseFrame(from ballot.NodeID, _ ballot.Incarnation, body []byte) {
	b, err := wire.DecodeLease(body)
	if !n.decoded(from, err) {
		return
	}
	var e leaseEvent
	switch {
	case b.Message != nil:
		if b.Message.From != from || b.Message.To != n.self.Node {
			return
		}
		e.Message = b.Message
	case b.Nudge != nil:
		if e.Nudged = ballot.NodeID(b.Nudge.Node) == n.self.Node; !e.Nudged {
			e.StandBack = n.cfg.LeaseTime / 4
		}
	default:
		n.takeHealth(from, *b.Health)
		return
	}
	select {
	case n.leaseIn <- e:
	default:
		n.metrics.droppedLease.Inc()
	}
}
