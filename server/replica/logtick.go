package replica

import (
	"time"

	"tenure/kv"
	"tenure/multipaxos"
)

// tick drives retransmission, heartbeats, time-outs and timers; it comes every TickEvery.
func (l *Log) tick(now time.Duration, p Published) error {
	l.ticks++
	l.now, l.deadline = now, p.Deadline
	if l.members.upToDate() {
		l.members.assured = l.ticks
	}
	if err := l.tickDigests(now, p); err != nil {
		return err
	}
	l.tickProgress(now, p)
	// What was not proposed or forwarded in time ends as Refused, for why; what was, as Unknown. A queued write of which
	// an earlier copy is in doubt is Unknown too (outbox.answer). A read is Refused.
	why := l.master.whyWaiting(l.epoch.ready, l.ticks)
	l.queue.expire(now, why, &l.out)
	l.batches.expire(now, &l.out)
	l.forwards.expire(now, &l.out)
	l.reads.expire(now, why, &l.out)
	l.master.expire(now, masterTimeout(l.cfg.Timing.MaxMaster))
	l.changes.expire(now, &l.out)
	l.changes.tick(l.ticks, l.state.Applied())
	if l.ticks%heartbeatTicks == 0 {
		l.members.announce(l.heartbeat(now), &l.out)
		l.core.SetAllHave(multipaxos.Slot(l.members.allHave(l.state.Applied())))
	}
	if l.epoch.ready && !l.stopping && p.HeldAs(l.epoch.tenure, now) {
		l.timers.ask(now, &l.queue)
	}
	l.tickLevels(now, p)
	l.namePrompt(now)
	return l.core.Tick()
}

// TickEvery is the distance between two Ticks, and heartbeatTicks the number of them between two heartbeats.
const (
	TickEvery      = 20 * time.Millisecond
	heartbeatTicks = 5
)

// heartbeat is what this node says of itself.
func (l *Log) heartbeat(now time.Duration) Heartbeat {
	h := l.epoch.heartbeat(l.state.Applied(), l.members.space, now, l.deadline)
	h.Membership, h.Excluding = l.inForce.told(now, l.core.MarkedThrough())
	h.Silent = l.inForce.silence(now)
	if h.Digests = l.digests.told; len(h.Digests) > 0 {
		h.DigestFormat = kv.DigestFormat
	}
	h.Level = l.levels.cfg.Newest
	return h
}
