package leases

import (
	"maps"
	"slices"
	"time"

	"tenure/lease/named"
)

// The policy's times.
const (
	resendEvery   = 50 * time.Millisecond
	resendsMost   = 2                     // before an attempt that somebody has refused is given up
	triesMost     = 16                    // attempts of one request that others' attempts may frustrate
	backoffFirst  = 2 * time.Millisecond  // first wait after such a one; it doubles up to
	backoffMost   = 64 * time.Millisecond //
	rankStep      = 4 * time.Millisecond  // between the tries of two nodes whose clients wait for one name
	timersFloor   = 1024                  // timers that are kept whatever has become of their tasks,
	timersPerTask = 8                     // and so many more for each task
	sweepMost     = 1024                  // records looked at in one go: about a millisecond
	sweepSoon     = time.Millisecond
	countMost     = 32 << 10 // records looked at in one go after a change of members: about two milliseconds
)

// tick does what is due at now. Call it at nextWake.
func (l *Part) tick(now time.Duration) {
	for {
		x, ok := l.timers.popDue(now)
		if !ok {
			break
		}
		l.fire(now, x)
	}
	for {
		counter, ok := l.resends.popDue(now)
		if !ok {
			break
		}
		if t := l.byCounter[counter]; t != nil {
			l.again(now, t)
		}
	}
	if len(l.timers.list) > timersFloor+timersPerTask*len(l.tasks) {
		l.timers.prune(l.needed)
	}
	l.out.hurryOld(now)
	l.counting = l.table.CountOlder(countMost)
	if now >= l.sweepAt {
		l.sweepAt = now + l.cfg.Table.Width
		if l.table.Sweep(now, sweepMost) {
			l.sweepAt = now + sweepSoon
		}
	}
}

// needed reports whether a timer has anything to do yet. The timers of answered requests have not.
func (l *Part) needed(e timerEntry) bool {
	if e.do.queue != nil || e.do.next != nil {
		return l.queues.needs(e)
	}
	return l.tasks[max(e.do.retry, e.do.expire)] != nil
}

// again sends once more what is under way, or ends it if its time is over.
func (l *Part) again(now time.Duration, t *task) {
	l.voters.missed(t.first, t.attempt.Answered)
	if now < t.req.Until {
		l.resends.add(now+resendEvery, t.counter)
		if t.resent++; t.resent > resendsMost && t.req.Op != Release {
			t.attempt.GiveUp()
		}
		t.wide = true
		l.send(now, t)
		if t.counter != 0 && t.req.Op != Release && t.attempt.Phase() == named.Over {
			l.finish(now, t) // given up, or its deadline had passed
		}
		return
	}
	if t.req.Op == Release {
		l.answer(t, Answer{ID: t.req.ID, Outcome: Unknown, Reason: NoQuorum})
		return
	}
	t.attempt.Abandon()
	l.finish(now, t)
}

func (l *Part) fire(now time.Duration, x timer) {
	switch {
	case x.queue != nil:
		if t := l.queues.due(now, x.queue); t != nil {
			l.start(now, t)
		}
	case x.next != nil:
		l.queues.next(now, x.next)
	case x.retry != 0:
		if t := l.tasks[x.retry]; t != nil && t.counter == 0 {
			l.start(now, t)
		}
	case x.expire != 0:
		if t := l.tasks[x.expire]; t != nil {
			l.expired(now, t)
		}
	}
}

// nextWake is the next time at which tick has something to do.
func (l *Part) nextWake() time.Duration {
	next := l.sweepAt
	if l.counting {
		next = 0
	}
	if at, ok := l.timers.first(); ok {
		next = min(next, at)
	}
	if at, ok := l.resends.first(); ok {
		next = min(next, at)
	}
	if at, ok := l.out.due(); ok {
		next = min(next, at)
	}
	return next
}

// expired ends the wait of a task. An attempt under way goes on to its end, which is soon.
func (l *Part) expired(now time.Duration, t *task) {
	if t.queue == nil || t.counter != 0 {
		return
	}
	out := Answer{ID: t.req.ID, Outcome: Busy}
	if r, live := l.table.Live(now, t.req.Name); live {
		out.Owner, out.RetryAfter = r.Owner, r.Left
	} else if t.tries > 0 {
		out = t.failed()
	}
	l.answer(t, out)
}

func sortedTasks(tasks map[uint64]*task) []uint64 { return slices.Sorted(maps.Keys(tasks)) }
