package multipaxos

import "tenure/internal/ballot"

// outbox is the one place that keeps the order between disk and network. A message about state goes in with the number
// of the Persist that holds the state, and comes out only once that Persist is durable.
type outbox struct {
	self    ballot.NodeID // who all messages are from
	ready   []Message
	waiting ring[waiting] // by rising seq
	durable uint64        // every Persist up to this one is durable
}

type waiting struct {
	seq uint64
	msg Message
}

// now sends a message that claims nothing about this node's disk.
func (o *outbox) now(m Message) {
	if o.ready == nil {
		o.ready = make([]Message, 0, 2)
	}
	m.From = o.self
	o.ready = append(o.ready, m)
}

// after sends m once Persist seq is durable. Beyond maxWaiting it is dropped, like one lost by the network.
func (o *outbox) after(seq uint64, m Message) {
	if seq <= o.durable {
		o.now(m)
		return
	}
	if m.Kind == KindPromise || m.Kind == KindPrepare {
		o.cancel(m.Kind, func(w Message) bool { return w.To == m.To })
	}
	n := o.waiting.len()
	if n >= maxWaiting {
		return
	}
	if n > 0 {
		// A repeated reply may wait for less than the one before it; waiting longer is harmless and keeps the order.
		seq = max(seq, o.waiting.at(n-1).seq)
	}
	o.waiting.push(waiting{seq, m})
}

// drain gives out what may be sent.
func (o *outbox) drain() []Message {
	ready := o.ready
	o.ready = nil
	return ready
}

// release is told that every Persist up to seq is durable.
func (o *outbox) release(seq uint64) {
	o.durable = seq
	for o.waiting.len() > 0 && o.waiting.at(0).seq <= seq {
		o.now(o.waiting.pop().msg)
	}
}

// cancel takes back waiting messages that a newer one replaces: pages of entries must not pile up while a disk stalls.
func (o *outbox) cancel(k Kind, which func(Message) bool) {
	for range o.waiting.len() {
		if w := o.waiting.pop(); w.msg.Kind != k || !which(w.msg) {
			o.waiting.push(w)
		}
	}
}

func (o *outbox) clone() outbox {
	n := *o
	n.ready, n.waiting = append([]Message(nil), o.ready...), o.waiting.clone()
	return n
}
