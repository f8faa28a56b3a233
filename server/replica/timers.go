package replica

import (
	"container/heap"
	"math"
	"time"

	"tenure/kv"
)

// sessionGrace is how many of its TTLs a session lives without a renewal. Consul promises one and grants two, and
// clients such as Patroni renew so seldom that they count on it.
const sessionGrace = 2

// maxAsked is how many timers may be on their way through the log at a time: clients' writes share the batches.
const maxAsked = 256

// askAgain is when a timer whose command was lost is looked at again. Within one mastership no command should be lost.
const askAgain = time.Second

// timers follows the times that run in the state (kv.Timed). Every node follows them, so each can report the time left;
// only the ready master logs the commands that end them. A timer is due no earlier than its time after the clock
// reading that followed its Apply here. A new ready master starts all times in full, since it cannot know how long
// clients could reach no node. So nothing ends before its time by the clock of any node.
//
// Each command names the Arm that it ends, so a late command ends nothing.
type timers struct {
	byName map[timerName]*timer // never ranged over
	queue  timerQueue
	fresh  []kv.Timed // told by the state, not yet with a clock reading
	out    int        // commands that are queued or in flight
}

type timerName struct {
	kind kv.TimedKind
	name string
}

type timer struct {
	timerName
	arm   uint64
	after time.Duration // from when it is armed until it is due
	due   time.Duration // on the node's elapsed clock
	place int           // in the queue
	asked bool          // it was due, and its command has been asked for: due is when to ask again
}

// learn takes over what the state tells of a time; it gets its clock reading in settle.
func (t *timers) learn(x kv.Timed) { t.fresh = append(t.fresh, x) }

// settle arms what was learned since, with a reading made after the state changed.
func (t *timers) settle(now time.Duration) {
	for _, x := range t.fresh {
		t.set(x, now)
	}
	clear(t.fresh)
	t.fresh = t.fresh[:0]
}

func (t *timers) set(x kv.Timed, now time.Duration) {
	name := timerName{x.Kind, x.Name}
	old := t.byName[name]
	switch {
	case x.After == 0 && old == nil:
	case x.After == 0:
		heap.Remove(&t.queue, old.place)
		delete(t.byName, name)
	case old == nil:
		n := &timer{timerName: name, arm: x.Arm, after: untilDue(x)}
		n.due = now + n.after
		t.byName[name] = n
		heap.Push(&t.queue, n)
	default:
		old.arm, old.after = x.Arm, untilDue(x)
		old.due, old.asked = now+old.after, false
		heap.Fix(&t.queue, old.place)
	}
}

func untilDue(x kv.Timed) time.Duration {
	if x.Kind == kv.TimedSession {
		return sessionGrace * x.After
	}
	return x.After
}

// rearm gives every timer its full time from now on.
func (t *timers) rearm(now time.Duration) {
	for _, x := range t.queue {
		x.due, x.asked = now+x.after, false
	}
	heap.Init(&t.queue)
}

// ask queues the commands for what is due. While some are on their way nothing else is asked for, so none is twice.
func (t *timers) ask(now time.Duration, q *queue) {
	if t.out > 0 {
		return
	}
	for t.out < maxAsked && len(t.queue) > 0 && t.queue[0].due <= now {
		x := t.queue[0]
		c := x.end()
		t.push(&c, now, q)
		x.due, x.asked = now+askAgain, true
		heap.Fix(&t.queue, 0)
	}
}

// end is the command that ends x.
func (x *timer) end() kv.Command { return kv.Timed{Kind: x.kind, Name: x.name, Arm: x.arm}.End() }

// push queues a command that nobody waits for.
func (t *timers) push(c *kv.Command, now time.Duration, q *queue) {
	q.push(write{Write: Write{Command: kv.EncodeCommand(c), Frees: true, Until: math.MaxInt64}, own: true, at: now})
	t.out++
}

// over takes the commands among writes off those on their way.
func (t *timers) over(writes []write) {
	for i := range writes {
		if writes[i].own {
			t.out--
		}
	}
}

// recall takes what is not yet proposed out of the queue: this node may not be the master any more when it would be.
func (t *timers) recall(q *queue) { t.over(q.remove(func(w write) bool { return w.own })) }

// Remaining returns the rest of a running time, as far as this node knows; at least 0. It is a hint: only the log ends
// anything. It must be called by whoever steps the log part.
func (l *Log) Remaining(kind kv.TimedKind, name string, now time.Duration) (left time.Duration, runs bool) {
	x := l.timers.byName[timerName{kind, name}]
	switch {
	case x == nil:
		return 0, false
	case x.asked:
		return 0, true
	}
	return max(0, x.due-now), true
}

// timerQueue is a heap, the first due in front.
type timerQueue []*timer

func (q timerQueue) Len() int           { return len(q) }
func (q timerQueue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q timerQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push and Pop are for container/heap alone.
func (q *timerQueue) Push(x any) {
	t := x.(*timer)
	t.place = len(*q)
	*q = append(*q, t)
}

func (q *timerQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return x
}
