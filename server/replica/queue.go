package replica

import (
	"time"

	"tenure/kv"
)

// queue holds the writes that are not yet proposed or forwarded, in order of arrival, bounded by number and bytes.
type queue struct {
	max, maxBytes int
	items         []write
	bytes         int
}

// full reports whether there is no place for w.
func (q *queue) full(w write) bool {
	return len(q.items) >= q.max || q.bytes+len(w.Command) > q.maxBytes
}

// push adds w, whether the queue is full or not.
func (q *queue) push(w write) {
	q.items = append(q.items, w)
	q.bytes += len(w.Command)
}

// drop forgets the first n items.
func (q *queue) drop(n int) {
	for i := range n {
		q.bytes -= len(q.items[i].Command)
		q.items[i] = write{}
	}
	q.items = q.items[n:]
	if len(q.items) == 0 {
		q.items = nil
	}
}

// remove removes every item for which match says so, and returns them in order.
func (q *queue) remove(match func(write) bool) []write {
	var out []write
	kept := q.items[:0]
	for _, w := range q.items {
		if match(w) {
			out = append(out, w)
			q.bytes -= len(w.Command)
		} else {
			kept = append(kept, w)
		}
	}
	clear(q.items[len(kept):])
	q.items = kept
	return out
}

// refuse refuses every item for which match says so.
func (q *queue) refuse(match func(write) bool, why Reason, out *outbox) {
	for _, w := range q.remove(match) {
		out.answer(w, Refused, why, kv.Result{})
	}
}

func (q *queue) refuseAll(why Reason, out *outbox) {
	q.refuse(func(write) bool { return true }, why, out)
}

// sendBack refuses what other nodes forwarded: they know better where the master is now.
func (q *queue) sendBack(out *outbox) {
	q.refuse(func(w write) bool { return w.from != 0 }, NoMaster, out)
}

// expire refuses what has waited too long: it was never proposed or forwarded.
func (q *queue) expire(now time.Duration, why Reason, out *outbox) {
	q.refuse(func(w write) bool { return now >= w.Until }, why, out)
}

// refuseFull refuses what waits to be proposed and has no space any more: it may have come in while there was some. It
// reports whether there is space for the rest.
func (q *queue) refuseFull(m *membersView, out *outbox) bool {
	if m.spaceFor(false) {
		return true
	}
	all := !m.quorumWith(true)
	q.refuse(func(w write) bool { return !w.own && (all || !w.Frees) }, NoSpace, out)
	return !all
}

// unless returns q for what the next master is to have, or nil if this node is leaving and waits for none.
func (q *queue) unless(leaving bool) *queue {
	if leaving {
		return nil
	}
	return q
}
