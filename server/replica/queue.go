package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
)

// write is a client's write while it waits here. from is the node that forwarded it, or 0 for a client of this node.
type write struct {
	id      uint64
	from    ballot.NodeID
	command []byte
	frees   bool
	keyed   bool
	own     bool          // of the timers: nobody waits for it, and it has no id
	at      time.Duration // when it came here
	until   time.Duration
	// doubt: an earlier copy of this write may have been applied, or may still be. From then on only a verdict on the
	// write itself settles it; a refusal speaks of one copy.
	doubt bool
}

// queue holds the writes that are not yet proposed or forwarded, in order of arrival, bounded by number and bytes.
type queue struct {
	items []write
	bytes int
}

// flight is a batch of writes on its way through a slot.
type flight struct {
	slot    multipaxos.Slot
	ballot  ballot.Ballot
	tenure  uint64
	writes  []write
	results []kv.Result
	lost    bool // the slot was decided otherwise
}

// request takes a write of a client of this node. It is answered exactly once, with a Reply of its ID.
func (l *Log) request(now time.Duration, r Request) {
	w := write{id: r.ID, command: r.Command, frees: r.Frees, keyed: r.Keyed, at: now, until: r.Until}
	l.admit(w)
}

// admit queues w or refuses it.
func (l *Log) admit(w write) {
	switch {
	case l.leaving || (l.stopping && w.from != 0):
		l.answer(w, Refused, Stopping, kv.Result{})
	case len(l.queue.items) >= l.cfg.MaxQueued || l.queue.bytes+len(w.command) > l.cfg.MaxQueuedBytes:
		l.answer(w, Refused, Overloaded, kv.Result{})
	case l.ready && !l.spaceFor(w):
		l.answer(w, Refused, NoSpace, kv.Result{})
	default:
		l.queue.push(w)
	}
}

func (q *queue) push(w write) {
	q.items = append(q.items, w)
	q.bytes += len(w.command)
}

// drop forgets the first n items.
func (q *queue) drop(n int) {
	for i := range n {
		q.bytes -= len(q.items[i].command)
		q.items[i] = write{}
	}
	q.items = q.items[n:]
	if len(q.items) == 0 {
		q.items = nil
	}
}

// take removes every item for which match says so, and returns them in order.
func (q *queue) take(match func(write) bool) []write {
	var out []write
	kept := q.items[:0]
	for _, w := range q.items {
		if match(w) {
			out = append(out, w)
			q.bytes -= len(w.command)
		} else {
			kept = append(kept, w)
		}
	}
	clear(q.items[len(kept):])
	q.items = kept
	return out
}

func (q *queue) refuseAll(l *Log, why Reason) {
	for _, w := range q.take(func(write) bool { return true }) {
		l.answer(w, Refused, why, kv.Result{})
	}
}

// sendBack refuses what other nodes forwarded: they know better where the master is now.
func (q *queue) sendBack(l *Log) {
	for _, w := range q.take(func(w write) bool { return w.from != 0 }) {
		l.answer(w, Refused, NoMaster, kv.Result{})
	}
}

// propose gathers what waits into batches, one slot each. While one is in flight the next fills, for GatherFor; while
// as many are as MaxInFlight allows, for as long as it takes. With nothing in flight nothing waits, and the end of a
// flight proposes what has gathered: group commit needs no timer.
func (l *Log) propose(now time.Duration) {
	if !l.refuseFull() {
		return
	}
	for len(l.queue.items) > 0 && l.mayFly(now) && l.core.Space() && !l.checkpoint.full(l) {
		n, size := 0, 1
		for n < len(l.queue.items) && (n == 0 || size+len(l.queue.items[n].command) <= l.cfg.MaxBatchBytes) {
			size += len(l.queue.items[n].command) + batchOverhead
			n++
		}
		value := append(make([]byte, 0, size), tagBatch)
		writes := append([]write(nil), l.queue.items[:n]...)
		for i := range writes {
			value = kv.AppendBatch(value, writes[i].command)
			writes[i].command = nil
		}
		slot, ok := l.core.Propose(value)
		if !ok {
			return
		}
		l.queue.drop(n)
		l.left = now
		l.out.Proposed = append(l.out.Proposed, Proposal{Slot: slot, Writes: n, Bytes: len(value), Waited: now - writes[0].at})
		l.flights = append(l.flights, flight{slot: slot, ballot: l.core.Ballot(), tenure: l.tenure, writes: writes})
	}
}

// mayFly tells whether another slot may be proposed now.
func (l *Log) mayFly(now time.Duration) bool {
	if len(l.flights) == 0 {
		return true
	}
	return len(l.flights) < l.cfg.MaxInFlight && (now-l.left >= l.cfg.GatherFor || l.queue.bytes >= l.cfg.MaxBatchBytes)
}

// batchOverhead bounds what a batch adds to a command.
const batchOverhead = 10

// expire answers what has waited too long: refused if it was never proposed or forwarded, else unknown.
func (l *Log) expire(now time.Duration) {
	for _, w := range l.queue.take(func(w write) bool { return now >= w.until }) {
		l.answer(w, Refused, l.whyWaiting(), kv.Result{})
	}
	for i := range l.flights {
		f := &l.flights[i]
		for j := range f.writes {
			if w := &f.writes[j]; w.id != 0 && now >= w.until {
				l.answer(*w, Unknown, TimedOut, kv.Result{})
				w.id = 0
			}
		}
	}
	l.away.expire(l, now)
	l.reads.expire(l, now)
	if l.master.node != l.cfg.Self.Node && now-l.master.heard > l.cfg.MasterTimeout {
		l.master.node = 0
	}
}

func (l *Log) whyWaiting() Reason {
	if l.ready || (l.master.node != 0 && l.master.node != l.cfg.Self.Node && !l.silent()) {
		return Overloaded
	}
	return NoMaster
}

// answer gives w its one answer: to the client here, or to the node that forwarded it. A write whose id is 0 has had
// its answer.
func (l *Log) answer(w write, o Outcome, why Reason, r kv.Result) {
	if w.id == 0 {
		return
	}
	if w.doubt && o == Refused {
		o = Unknown
	}
	if w.from == 0 {
		l.out.Replies = append(l.out.Replies, Reply{ID: w.id, Outcome: o, Reason: why, Result: r})
		return
	}
	l.replyTo(w.from, ForwardedAnswer{ID: w.id, Outcome: o, Reason: why, Result: r})
}
