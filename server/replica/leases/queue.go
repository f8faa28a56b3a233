package leases

import (
	"slices"
	"time"

	"tenure/lease/named"
)

// queue holds the tasks that wait on this node for one name, in order. The first one tries.
type queue struct {
	name  named.Name
	tasks []*task
	at    time.Duration // when to try; 0: an attempt is under way
	hint  bool          // the name may have become free since that began
}

// queues is the queues for all names. It sets timers for later work, and returns when a task may try.
type queues struct {
	byName  map[named.Name]*queue
	waiting int // tasks
	table   *named.Table
	timers  *timers
	pauses  *pauses
}

// join has t wait for its turn, and reports whether that is at once.
func (s *queues) join(now time.Duration, t *task) bool {
	q := s.byName[t.req.Name]
	if q == nil {
		q = &queue{name: t.req.Name}
		s.byName[t.req.Name] = q
	}
	t.queue = q
	q.tasks = append(q.tasks, t)
	s.waiting++
	s.timers.add(t.req.WaitUntil, timer{expire: t.req.ID})
	if len(q.tasks) > 1 {
		return false
	}
	r, live := s.table.Live(now, q.name)
	if live && r.Acquisition != t.req.Acquisition {
		s.wake(q, now+r.Left+s.pauses.rank(q.name)) // an attempt against it would only be blocked
		return false
	}
	return true
}

// wait is what the first of a queue does after an attempt that has not won.
func (s *queues) wait(now time.Duration, t *task) {
	wait := s.pauses.backoff(t.tries)
	if t.attempt.End() == named.EndBlocked {
		wait = t.attempt.RetryIn() + s.pauses.rank(t.req.Name)
	}
	if t.queue.hint {
		wait = s.pauses.rank(t.req.Name)
	}
	s.wake(t.queue, now+wait)
}

// wake has the first of q try at that time.
func (s *queues) wake(q *queue, at time.Duration) {
	q.at = at
	s.timers.add(at, timer{queue: q})
}

// released is the hint that a name may be free.
func (s *queues) released(now time.Duration, n named.Name) {
	q := s.byName[n]
	if q == nil {
		return
	}
	if _, live := s.table.Live(now, n); live {
		return
	}
	if q.at == 0 {
		q.hint = true
		return
	}
	if at := now + s.pauses.rank(n); at < q.at {
		s.wake(q, at)
	}
}

// due returns the task that may try now because its queue's time has come, or nil.
func (s *queues) due(now time.Duration, q *queue) *task {
	if q.at == 0 || now < q.at || len(q.tasks) == 0 || q.tasks[0].counter != 0 {
		return nil // it was moved, or the queue has ended
	}
	q.at, q.hint = 0, false
	return q.tasks[0]
}

// leave takes t, which has its answer, out of its queue, if it is in one. If it was the first, the next one's time
// comes when the name may be free: as the own acceptor knows it.
func (s *queues) leave(t *task) {
	q := t.queue
	if q == nil {
		return
	}
	t.queue = nil
	i := slices.Index(q.tasks, t)
	q.tasks = slices.Delete(q.tasks, i, i+1)
	s.waiting--
	if len(q.tasks) == 0 {
		delete(s.byName, q.name)
		return
	}
	if i == 0 {
		s.timers.add(0, timer{next: q}) // at the next tick, which has a clock
	}
}

// next has the new first of a queue look at the name.
func (s *queues) next(now time.Duration, q *queue) {
	if len(q.tasks) == 0 || q.tasks[0].counter != 0 {
		return
	}
	at := now
	if r, live := s.table.Live(now, q.name); live {
		at += r.Left + s.pauses.rank(q.name)
	}
	s.wake(q, at)
}

// needs reports whether a timer of a queue has anything to do yet.
func (s *queues) needs(e timerEntry) bool {
	if e.do.next != nil {
		return s.byName[e.do.next.name] == e.do.next
	}
	return s.byName[e.do.queue.name] == e.do.queue && e.at == e.do.queue.at
}
