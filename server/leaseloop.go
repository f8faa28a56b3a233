package server

import (
	"runtime"
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/server/replica"
)

// leaseEvent is one input of the lease loop.
type leaseEvent struct {
	message   *lease.Message
	nudged    bool
	standBack time.Duration
	release   *release
	crash     *crash
	letGo     replica.LetGo // with Holding 0: none
}

// release asks the lease loop to give the lease up; done is closed when the messages have been handed to the
// transport.
type release struct {
	standBack time.Duration
	why       replica.Cause // one of those that are releases
	next      ballot.NodeID // hint: who should try
	done      chan struct{}
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

// runLease is the lease loop. It shares nothing with the log loop but the gate, and has a thread of its own, so that
// neither the disk nor a flood of requests stands before a lease message.
func (n *Node) runLease(stop <-chan struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	timer := time.NewTimer(0)
	defer timer.Stop()
	meter := newGapMeter()
	defer meter.close()
	due := n.clock.Now()
	for {
		var e leaseEvent
		select {
		case <-stop:
			return nil
		case e = <-n.leaseIn:
		case <-timer.C:
		}
		now := n.clock.Now()
		gap := meter.read(now)
		n.noteLateness(now-due, gap)
		n.elector.Gap(gap)
		n.stepLease(now, e)
		due = n.elector.NextWake(now)
		timer.Reset(due - now)
	}
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

func (n *Node) stepLease(now time.Duration, e leaseEvent) {
	n.elector.SetBarred(n.standing.Load().Barred)
	switch {
	case e.message != nil:
		n.elector.Handle(now, *e.message)
	case e.nudged:
		n.elector.Nudge(now)
	case e.standBack > 0:
		n.elector.StandBack(now, e.standBack)
	case e.release != nil:
		n.giveUp(now, e.release)
	case e.crash != nil:
		n.crashReleased(now, e.crash)
	case e.letGo.Holding != 0:
		n.letGo(now, e.letGo)
	default:
		if g := n.logHangs(now); g.Holding != 0 {
			e.letGo = g
			n.letGo(now, g)
		}
	}
	n.elector.Tick(now)
	n.publishLease(now)
	n.noteTenures(now, e.release, e.letGo)
	n.noteBallots(now)
	n.sendLease()
	if e.release != nil {
		close(e.release.done)
	}
}

// giveUp follows P6: nobody acts as owner any more (the log part has stepped down, and the gate shows no holding)
// before Release leaves.
func (n *Node) giveUp(now time.Duration, r *release) {
	n.gate.setLease(0, 0)
	if r.next != 0 {
		body := encodeNudge(nudge{Node: uint64(r.next)})
		for _, p := range n.peers {
			n.transport.SendLease(p, body)
		}
	}
	n.elector.Release(now, r.standBack, r.why)
}

// letGo releases the lease because this node gets nowhere (M6), in the order of P6: the log part has stepped down, and the
// gate shows no holding.
func (n *Node) letGo(now time.Duration, g replica.LetGo) {
	if n.elector.State(now).Holding != g.Holding {
		return
	}
	n.gate.setLease(0, 0)
	if n.elector.LetGo(now, g.Holding) {
		n.metrics.letGo.WithLabelValues(g.Reason).Inc()
		n.log.Warn().Str("reason", g.String()).Uint64("holding", g.Holding).
			Msg("this node gets nowhere as master and another one is able: it lets go of the master lease and stands back")
	}
}

func (n *Node) publishLease(now time.Duration) {
	s := n.elector.State(now)
	before := n.gate.load()
	if n.gate.setLease(s.Holding, s.Deadline) {
		n.nudge()
	}
	if s.Holding != 0 && s.Deadline != before.Deadline {
		n.metrics.leaseRenewal.Observe((now - (s.Deadline - n.cfg.LeaseTime)).Seconds())
	}
	owner, left := n.elector.Owner(now)
	n.leaseView.Store(&leaseView{owner: owner, excludedFor: left, at: now,
		quarantineLeft: n.elector.QuarantineLeft(now)})
}

func (n *Node) sendLease() {
	for _, m := range n.elector.Take() {
		n.transport.SendLease(m.To, encodeLease(&m))
	}
}

// LeaseFrame takes a frame from the lease connection of a peer.
func (n *Node) LeaseFrame(from ballot.NodeID, _ ballot.Incarnation, body []byte) {
	if len(body) == 0 {
		return
	}
	var e leaseEvent
	switch body[0] {
	case frameLease:
		m := new(lease.Message)
		if !n.decode(from, body, m) || m.From != from || m.To != n.self.Node {
			return
		}
		e.message = m
	case frameNudge:
		var g nudge
		if !n.decode(from, body, &g) {
			return
		}
		if e.nudged = ballot.NodeID(g.Node) == n.self.Node; !e.nudged {
			e.standBack = n.cfg.LeaseTime / 4
		}
	case frameHealth:
		n.takeHealth(from, body)
		return
	default:
		n.metrics.ignoredFrames.Inc()
		return
	}
	select {
	case n.leaseIn <- e:
	default:
		n.metrics.droppedLease.Inc()
	}
}
