package replica

import (
	"sort"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// forwarded is a client's write that was forwarded to the master. It keeps its command, since a write that the master
// refused was certainly not applied and may be sent again. A write with an unknown outcome is sent again only with an
// idempotency key.
type forwarded struct {
	write
	seq  uint64 // rises with each forwarding in this run: what the master calls it
	to   ballot.NodeID
	over bool // answered or recalled
}

// forwards holds the forwarded writes by rising seq. The writes without an answer are bounded by number and bytes; an
// answered one stays until those before it are answered.
type forwards struct {
	max, maxBytes, maxMessage int
	nonce                     uint64 // of the run
	items                     []forwarded
	next                      uint64
	open                      int // without an answer
	bytes                     int // of their commands
}

// forward sends what waits to the master to.
func (f *forwards) forward(now time.Duration, q *queue, to ballot.NodeID, out *outbox) {
	n, size, m := 0, 0, Message{Kind: KindForward, To: to}
	for _, w := range q.items {
		if f.open >= f.max || f.bytes >= f.maxBytes {
			break
		}
		if size > 0 && size+len(w.Command) > f.maxMessage {
			out.send(m)
			size, m.Writes = 0, nil
		}
		seq := f.add(w, to)
		m.Writes = append(m.Writes, Write{ID: seq, Command: w.Command, Frees: w.Frees, Wait: w.Until - now})
		size += len(w.Command)
		n++
	}
	if len(m.Writes) > 0 {
		out.send(m)
	}
	q.drop(n)
}

// add files w under the next sequence number. The first one of a run is drawn from its nonce, so that an answer to
// an earlier run's forwarding is not taken for one of this run.
func (f *forwards) add(w write, to ballot.NodeID) uint64 {
	if f.next == 0 {
		f.next = f.nonce>>1 | 1
	}
	f.next++
	f.open++
	f.bytes += len(w.Command)
	f.items = append(f.items, forwarded{write: w, seq: f.next, to: to})
	return f.next
}

// answered takes the answers of node from. A write that was refused because from is not, or no longer, the master goes
// back into the queue for the next one, unless this node is leaving: it was certainly not applied. So does a keyed
// write whose outcome from cannot tell, since from has lost the lease. answered reports whether there is such a write.
func (f *forwards) answered(now time.Duration, from ballot.NodeID, answers []ForwardedAnswer, leaving bool, q *queue,
	out *outbox) (notMaster bool) {
	for _, a := range answers {
		w := f.find(a.ID)
		if w == nil || w.to != from {
			continue
		}
		switch waits := !leaving && now < w.Until; {
		case waits && a.Outcome == Refused && (a.Reason == NoMaster || a.Reason == Stopping):
			q.push(w.write)
			notMaster = true
		case waits && w.Keyed && a.Outcome == Unknown && a.Reason == LeaseLost:
			q.push(w.inDoubt())
			notMaster = true
		default:
			out.answer(w.write, a.Outcome, a.Reason, a.Result)
		}
		f.remove(w)
	}
	f.trim()
	return notMaster
}

// lost ends the writes forwarded to a node whose connection broke: keyed ones are forwarded again, others are unknown.
func (f *forwards) lost(node ballot.NodeID, q *queue, out *outbox) {
	for i := range f.items {
		if a := &f.items[i]; !a.over && a.to == node {
			if a.Keyed {
				q.push(a.inDoubt())
			} else {
				out.answer(a.write, Unknown, LinkLost, kv.Result{})
			}
			f.remove(a)
		}
	}
	f.trim()
}

// recall takes back the keyed writes that were forwarded to other nodes than the master, to forward or propose them
// again.
func (f *forwards) recall(master ballot.NodeID, q *queue) {
	for i := range f.items {
		if a := &f.items[i]; !a.over && a.Keyed && a.to != master {
			q.push(a.inDoubt())
			f.remove(a)
		}
	}
	f.trim()
}

// expire answers the writes whose clients have waited too long.
func (f *forwards) expire(now time.Duration, out *outbox) {
	for i := range f.items {
		if a := &f.items[i]; !a.over && now >= a.Until {
			out.answer(a.write, Unknown, TimedOut, kv.Result{})
			f.remove(a)
		}
	}
	f.trim()
}

func (f *forwards) find(seq uint64) *forwarded {
	i := sort.Search(len(f.items), func(i int) bool { return f.items[i].seq >= seq })
	if i == len(f.items) || f.items[i].seq != seq || f.items[i].over {
		return nil
	}
	return &f.items[i]
}

func (f *forwards) remove(a *forwarded) {
	f.bytes -= len(a.Command)
	a.over, a.Command = true, nil
	f.open--
}

// trim drops the answered ones in front.
func (f *forwards) trim() {
	n := 0
	for n < len(f.items) && f.items[n].over {
		n++
	}
	f.items = f.items[n:]
	if len(f.items) == 0 {
		f.items = nil
	}
}
