package replica

import (
	"slices"
	"sort"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// awayWrite is a client's write that was forwarded to the master. It keeps its command, though only a write with an
// idempotency key is sent again when nothing is known of it: one that the master refused was certainly not applied.
type awayWrite struct {
	write
	seq  uint64 // rises with each forwarding in this run: what the master calls it
	to   ballot.NodeID
	gone bool // answered or recalled
}

// forwards holds the forwarded writes by rising seq.
type forwards struct {
	items []awayWrite
	next  uint64
	live  int
	bytes int // of the commands of those that live
}

// forward sends the writes of this node's clients to the master, if one is known that does not seem to hang.
func (l *Log) forward(now time.Duration) {
	l.queue.sendBack(l)
	if l.master.node == 0 || l.master.node == l.cfg.Self.Node || len(l.queue.items) == 0 || l.silent() {
		return
	}
	n, size, m := 0, 0, Message{Kind: KindForward, To: l.master.node}
	for _, w := range l.queue.items {
		if l.away.live >= l.cfg.MaxForwarded || l.away.bytes >= l.cfg.MaxQueuedBytes {
			break
		}
		if size > 0 && size+len(w.command) > l.cfg.MaxBatchBytes {
			l.send(m)
			size, m.Writes = 0, nil
		}
		seq := l.away.add(w, l.master.node, l.cfg.Self.Nonce)
		m.Writes = append(m.Writes, ForwardedWrite{ID: seq, Command: w.command, Frees: w.frees, WaitFor: w.until - now})
		size += len(w.command)
		n++
	}
	if len(m.Writes) > 0 {
		l.send(m)
	}
	l.queue.drop(n)
}

// add files w under the next sequence number. The first one of a run is drawn from its nonce, so that an answer to
// an earlier run's forwarding is not taken for one of this run.
func (f *forwards) add(w write, to ballot.NodeID, nonce uint64) uint64 {
	if f.next == 0 {
		f.next = nonce>>1 | 1
	}
	f.next++
	f.live++
	f.bytes += len(w.command)
	f.items = append(f.items, awayWrite{write: w, seq: f.next, to: to})
	return f.next
}

// takeForwarded admits writes that another node forwarded. A node that holds no lease refuses them.
func (l *Log) takeForwarded(now time.Duration, from ballot.NodeID, writes []ForwardedWrite) {
	for _, f := range writes {
		w := write{id: f.ID, from: from, command: f.Command, frees: f.Frees, at: now, until: now + f.WaitFor}
		if l.tenure == 0 {
			l.answer(w, Refused, NoMaster, kv.Result{})
			continue
		}
		l.admit(w)
	}
}

// openAnswers is the message that gathers the answers for one node.
type openAnswers struct {
	to      ballot.NodeID
	message int // its place in the output
	bytes   int // of its bodies
}

// replyTo gathers the answers for one node into as few messages per round as their number and their bodies allow.
func (l *Log) replyTo(node ballot.NodeID, a ForwardedAnswer) {
	size := len(a.Result.Body)
	i := slices.IndexFunc(l.answers, func(o openAnswers) bool { return o.to == node })
	if i >= 0 {
		o := &l.answers[i]
		m := &l.out.Messages[o.message]
		if len(m.Answers) < maxAnswers && (o.bytes == 0 || o.bytes+size <= l.cfg.MaxBatchBytes) {
			m.Answers = append(m.Answers, a)
			o.bytes += size
			return
		}
		l.answers = slices.Delete(l.answers, i, i+1)
	}
	l.answers = append(l.answers, openAnswers{to: node, message: len(l.out.Messages), bytes: size})
	l.send(Message{Kind: KindForwarded, To: node, Answers: []ForwardedAnswer{a}})
}

const maxAnswers = 4096 // in one message

// answered takes the master's answers. A write that was refused because the node is not, or no longer, the master
// waits here for the next one: it was certainly not applied.
func (f *forwards) answered(l *Log, now time.Duration, from ballot.NodeID, answers []ForwardedAnswer) {
	for _, a := range answers {
		w := f.find(a.ID)
		if w == nil || w.to != from {
			continue
		}
		again := a.Outcome == Refused && (a.Reason == NoMaster || a.Reason == Stopping) && now < w.until
		if again && !l.leaving {
			l.queue.push(w.write)
			if l.master.node == from {
				l.master.node = 0
			}
		} else {
			l.answer(w.write, a.Outcome, a.Reason, a.Result)
		}
		f.remove(w)
	}
	f.trim()
}

// inDoubt is the write, to be sent once more without an answer to this copy.
func (a *awayWrite) inDoubt() write {
	w := a.write
	w.doubt = true
	return w
}

// lost ends what was forwarded to a node whose connection broke: keyed writes are forwarded again, others unknown.
func (f *forwards) lost(l *Log, node ballot.NodeID) {
	for i := range f.items {
		if a := &f.items[i]; !a.gone && a.to == node {
			if a.keyed {
				l.queue.push(a.inDoubt())
			} else {
				l.answer(a.write, Unknown, LinkLost, kv.Result{})
			}
			f.remove(a)
		}
	}
	f.trim()
}

// recall takes back matching keyed writes to forward or propose them again.
func (f *forwards) recall(l *Log, match func(*awayWrite) bool) {
	for i := range f.items {
		if a := &f.items[i]; !a.gone && match(a) {
			l.queue.push(a.inDoubt())
			f.remove(a)
		}
	}
	f.trim()
}

func (f *forwards) expire(l *Log, now time.Duration) {
	for i := range f.items {
		if a := &f.items[i]; !a.gone && now >= a.until {
			l.answer(a.write, Unknown, TimedOut, kv.Result{})
			f.remove(a)
		}
	}
	f.trim()
}

func (f *forwards) find(seq uint64) *awayWrite {
	i := sort.Search(len(f.items), func(i int) bool { return f.items[i].seq >= seq })
	if i == len(f.items) || f.items[i].seq != seq || f.items[i].gone {
		return nil
	}
	return &f.items[i]
}

func (f *forwards) remove(a *awayWrite) {
	f.bytes -= len(a.command)
	a.gone, a.command = true, nil
	f.live--
}

// trim drops the answered ones in front.
func (f *forwards) trim() {
	n := 0
	for n < len(f.items) && f.items[n].gone {
		n++
	}
	f.items = f.items[n:]
	if len(f.items) == 0 {
		f.items = nil
	}
}
