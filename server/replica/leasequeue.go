package replica

import (
	"maps"
	"slices"
	"time"

	"tenure/lease/named"
)

// The policy's times.
const (
	leaseResendEvery = 50 * time.Millisecond
	leaseResends     = 2                     // before an attempt that somebody has refused is given up
	leaseTries       = 16                    // attempts of one request that others' attempts may frustrate
	leaseBackoff     = 2 * time.Millisecond  // first wait after such a one; it doubles up to
	leaseBackoffMax  = 64 * time.Millisecond //
	leaseRank        = 4 * time.Millisecond  // between the tries of two nodes whose clients wait for one name
	timersFloor      = 1024                  // timers that are kept whatever has become of their tasks,
	timersPerTask    = 8                     // and so many more for each task
	sweepMost        = 1024                  // records looked at in one go: about a millisecond
	sweepSoon        = time.Millisecond
)

// leaseQueue is those who wait on this node for one name, in order. The first one tries.
type leaseQueue struct {
	name  named.Name
	tasks []*leaseTask
	at    time.Duration // when to try; 0: an attempt is under way
	hint  bool          // the name may have become free since that began
}

// enqueue has t wait for its turn, which may be at once.
func (l *Leases) enqueue(now time.Duration, t *leaseTask) {
	q := l.queues[t.req.Name]
	if q == nil {
		q = &leaseQueue{name: t.req.Name}
		l.queues[t.req.Name] = q
	}
	t.queue = q
	q.tasks = append(q.tasks, t)
	l.waiting++
	l.timers.add(t.req.WaitUntil, leaseTimer{expire: t.req.ID})
	if len(q.tasks) > 1 {
		return
	}
	r, live := l.table.Live(now, q.name)
	if live && r.Acquisition != t.req.Acquisition {
		l.wake(q, now+r.Left+l.rank(q.name)) // an attempt against it would only be blocked
		return
	}
	l.start(now, t)
}

// waitOn is what the first of a queue does after an attempt that has not won.
func (l *Leases) waitOn(now time.Duration, t *leaseTask) {
	wait := l.backoff(t.tries)
	if t.attempt.End() == named.EndBlocked {
		wait = t.attempt.RetryIn() + l.rank(t.req.Name)
	}
	if t.queue.hint {
		wait = l.rank(t.req.Name)
	}
	l.wake(t.queue, now+wait)
}

// wake has the first of q try at that time.
func (l *Leases) wake(q *leaseQueue, at time.Duration) {
	q.at = at
	l.timers.add(at, leaseTimer{queue: q})
}

// released is the hint that a name may be free.
func (l *Leases) released(now time.Duration, n named.Name) {
	q := l.queues[n]
	if q == nil {
		return
	}
	if _, live := l.table.Live(now, n); live {
		return
	}
	if q.at == 0 {
		q.hint = true
		return
	}
	if at := now + l.rank(n); at < q.at {
		l.wake(q, at)
	}
}

// due is a queue's time.
func (l *Leases) due(now time.Duration, q *leaseQueue) {
	if q.at == 0 || now < q.at || len(q.tasks) == 0 || q.tasks[0].counter != 0 {
		return // it was moved, or the queue has ended
	}
	q.at, q.hint = 0, false
	l.start(now, q.tasks[0])
}

// leave takes t, which has its answer, out of its queue. If it was the first, the next one's time comes when the name
// may be free: as the own acceptor knows it.
func (l *Leases) leave(t *leaseTask) {
	q := t.queue
	t.queue = nil
	i := slices.Index(q.tasks, t)
	q.tasks = slices.Delete(q.tasks, i, i+1)
	l.waiting--
	if len(q.tasks) == 0 {
		delete(l.queues, q.name)
		return
	}
	if i == 0 {
		l.timers.add(0, leaseTimer{next: q}) // at the next tick, which has a clock
	}
}

// next has the new first of a queue look at the name.
func (l *Leases) next(now time.Duration, q *leaseQueue) {
	if len(q.tasks) == 0 || q.tasks[0].counter != 0 {
		return
	}
	at := now
	if r, live := l.table.Live(now, q.name); live {
		at += r.Left + l.rank(q.name)
	}
	l.wake(q, at)
}

// expired ends the wait of a task. An attempt under way goes on to its end, which is soon.
func (l *Leases) expired(now time.Duration, t *leaseTask) {
	if t.queue == nil || t.counter != 0 {
		return
	}
	out := LeaseAnswer{ID: t.req.ID, Outcome: LeaseBusy}
	if r, live := l.table.Live(now, t.req.Name); live {
		out.Owner, out.RetryAfter = r.Owner, r.Left
	} else if t.tries > 0 {
		out = l.failed(t)
	}
	l.answer(t, out)
}

// tick does what is due at now. Call it at nextWake.
func (l *Leases) tick(now time.Duration) {
	for {
		x, ok := l.timers.take(now)
		if !ok {
			break
		}
		l.fire(now, x)
	}
	for {
		counter, ok := l.resends.take(now)
		if !ok {
			break
		}
		if t := l.flights[counter]; t != nil {
			l.again(now, t)
		}
	}
	if len(l.timers.list) > timersFloor+timersPerTask*len(l.tasks) {
		l.timers.prune(l.alive)
	}
	l.depart(now)
	if now >= l.sweepAt {
		l.sweepAt = now + l.cfg.Table.Width
		if l.table.Sweep(now, sweepMost) {
			l.sweepAt = now + sweepSoon
		}
	}
}

// alive tells whether a timer has anything to do yet: of requests that were answered long before their time none is
// kept.
func (l *Leases) alive(e timerEntry) bool {
	switch {
	case e.do.queue != nil:
		return l.queues[e.do.queue.name] == e.do.queue && e.at == e.do.queue.at
	case e.do.next != nil:
		return l.queues[e.do.next.name] == e.do.next
	}
	return l.tasks[max(e.do.retry, e.do.expire)] != nil
}

// again sends once more what is under way, or ends it if its time is over.
func (l *Leases) again(now time.Duration, t *leaseTask) {
	l.overdue(t)
	if now < t.req.Until {
		l.resends.add(now+leaseResendEvery, t.counter)
		if t.resent++; t.resent > leaseResends && t.req.Op != LeaseRelease {
			t.attempt.GiveUp()
		}
		t.wide = true
		l.send(now, t)
		if t.counter != 0 && t.req.Op != LeaseRelease && t.attempt.Phase() == named.Over {
			l.finish(now, t) // given up, or its deadline had passed
		}
		return
	}
	if t.req.Op == LeaseRelease {
		l.answer(t, LeaseAnswer{ID: t.req.ID, Outcome: LeaseUnknown, Reason: LeaseNoQuorum})
		return
	}
	t.attempt.Abandon()
	l.finish(now, t)
}

func (l *Leases) fire(now time.Duration, x leaseTimer) {
	switch {
	case x.queue != nil:
		l.due(now, x.queue)
	case x.next != nil:
		l.next(now, x.next)
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

// nextWake is the next time at which Tick has something to do.
func (l *Leases) nextWake() time.Duration {
	next := l.sweepAt
	if at, ok := l.timers.first(); ok {
		next = min(next, at)
	}
	if at, ok := l.resends.first(); ok {
		next = min(next, at)
	}
	if at, ok := l.departs(); ok {
		next = min(next, at)
	}
	return next
}

// rank is this node's wait before it tries for a name that has just become free: the nodes come in an order that
// depends on the name, at a distance, so that they seldom duel.
func (l *Leases) rank(n named.Name) time.Duration {
	voters, own := l.cfg.Voters.Len(), 0
	for i := range voters {
		if l.cfg.Voters.At(i) == l.cfg.Self.Node {
			own = i
		}
	}
	place := (own + int(n[15])) % voters
	return time.Duration(place)*leaseRank + l.draw(leaseRank/4)
}

// backoff is P5's random wait after the tries-th attempt.
func (l *Leases) backoff(tries int) time.Duration {
	most := leaseBackoff << min(tries-1, 10)
	return leaseBackoff/2 + l.draw(min(most, leaseBackoffMax))
}

// draw is a pseudo-random duration below d, from a xorshift64 generator.
func (l *Leases) draw(d time.Duration) time.Duration {
	l.random ^= l.random << 13
	l.random ^= l.random >> 7
	l.random ^= l.random << 17
	return time.Duration(l.random % uint64(d))
}

func sortedTasks(tasks map[uint64]*leaseTask) []uint64 { return slices.Sorted(maps.Keys(tasks)) }
