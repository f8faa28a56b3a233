package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
)

// batch is some writes that were proposed in one slot.
type batch struct {
	slot    multipaxos.Slot
	ballot  ballot.Ballot
	tenure  uint64
	writes  []write
	results []kv.Result
	lost    bool // the slot was decided otherwise
}

// batches holds the writes that were proposed: in flight, or applied and not yet acknowledged.
type batches struct {
	max      int // in flight
	maxBytes int // of the commands in one
	gather   time.Duration
	inFlight []batch       // in slot order
	newest   time.Duration // when the newest of them was proposed
	applied  []batch       // to be acknowledged by finish
}

// propose gathers queued writes into batches, one slot each. While a batch is in flight the next one fills, for the
// time gather. While the most batches are in flight, it fills until one ends. With no batch in flight, writes are
// proposed at once. The end of a batch proposes the writes gathered since, so group commit needs no timer.
func (b *batches) propose(now time.Duration, q *queue, core *multipaxos.Core, tenure uint64, out *outbox) {
	for len(q.items) > 0 && b.gathered(now, q.bytes) && core.MayPropose() {
		n, size := q.first(b.maxBytes)
		value := append(make([]byte, 0, size), tagBatch)
		writes := append([]write(nil), q.items[:n]...)
		for i := range writes {
			value = kv.AppendBatch(value, writes[i].Command)
			if !writes[i].mayRepeat() {
				writes[i].Command = nil
			}
		}
		slot, ok := core.Propose(value)
		if !ok {
			return
		}
		q.drop(n)
		b.newest = now
		out.out.Proposed = append(out.out.Proposed, Proposal{Slot: slot, Writes: n, Bytes: len(value),
			Waited: now - writes[0].at})
		b.inFlight = append(b.inFlight, batch{slot: slot, ballot: core.Ballot(), tenure: tenure, writes: writes})
	}
}

// first returns how many writes go into the next batch, and about how many bytes it takes: at least one write, and no
// more than the state machine takes.
func (q *queue) first(maxBytes int) (n, size int) {
	size = 1
	for n < min(len(q.items), kv.MaxBatchCommands) && (n == 0 || size+len(q.items[n].Command) <= maxBytes) {
		size += len(q.items[n].Command) + batchOverhead
		n++
	}
	return n, size
}

// batchOverhead bounds what a batch adds to a command.
const batchOverhead = 10

// gathered reports whether the writes that wait, with so many bytes of commands, need not gather for longer.
func (b *batches) gathered(now time.Duration, waiting int) bool {
	if len(b.inFlight) == 0 {
		return true
	}
	return len(b.inFlight) < b.max && (now-b.newest >= b.gather || waiting >= b.maxBytes)
}

// apply takes an applied entry with its results, and returns the writes of the batch that was proposed in its slot.
func (b *batches) apply(e multipaxos.Entry, results []kv.Result) []write {
	if len(b.inFlight) == 0 || b.inFlight[0].slot != e.Slot {
		return nil
	}
	x := b.inFlight[0]
	b.inFlight = b.inFlight[1:]
	x.results, x.lost = results, x.ballot != e.Ballot
	b.applied = append(b.applied, x)
	return x.writes
}

// acknowledge answers the applied writes if the lease is still held in the same tenure, and loses them otherwise. A
// master that was paused must not acknowledge a write that its successor's reads may have missed.
func (b *batches) acknowledge(now time.Duration, p Published, tenure uint64, q *queue, out *outbox) {
	for _, x := range b.applied {
		ok := !x.lost && x.tenure == tenure && p.HeldAs(tenure, now)
		for i, w := range x.writes {
			if ok {
				w.slot = x.slot
				out.answer(w, Done, NoReason, x.results[i])
			} else {
				w.lose(q, out)
			}
		}
	}
	clear(b.applied)
	b.applied = b.applied[:0]
}

// abandon ends mastership for what is in flight: it may still be chosen, or not.
func (b *batches) abandon(q *queue, out *outbox) {
	for _, x := range b.inFlight {
		for _, w := range x.writes {
			w.lose(q, out)
		}
	}
	b.inFlight = nil
}

// expire answers the writes whose clients have waited too long. Their batches go on.
func (b *batches) expire(now time.Duration, out *outbox) {
	for i := range b.inFlight {
		x := &b.inFlight[i]
		for j := range x.writes {
			if w := &x.writes[j]; w.awaited() && now >= w.Until {
				out.answer(*w, Unknown, TimedOut, kv.Result{})
				w.setAnswered()
			}
		}
	}
}
