package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
)

// write is a command while it waits here to be proposed or forwarded, or is in flight. from is the node that forwarded
// it, or 0 for a client of this node and for the node's own commands.
type write struct {
	Write
	from ballot.NodeID
	own  bool            // of the timers, or a new feature level: nobody waits for it, and it has no ID
	slot multipaxos.Slot // in which it was chosen; 0 until then
	at   time.Duration   // when it came here
	// doubt: an earlier copy of this write may have been applied, or may still be. From then on only a verdict on the
	// write itself settles it; a refusal speaks of one copy.
	doubt bool
}

// writeAt returns w as it comes at now, with until when it waits.
func writeAt(now time.Duration, from ballot.NodeID, w Write) write {
	w.Until = waitsUntil(now, w.Until, w.Wait)
	return write{Write: w, from: from, at: now}
}

// awaited reports whether somebody waits for an answer to w: nobody does once it was answered, or if it is the node's
// own.
func (w write) awaited() bool { return w.ID != 0 }

// setAnswered notes that w has had its answer.
func (w *write) setAnswered() { w.ID = 0 }

// mayRepeat reports whether this node may have a second copy of the write decided if it cannot tell what became of the
// first. A forwarded one is for the node of its client.
func (w write) mayRepeat() bool { return w.Keyed && w.from == 0 && w.awaited() }

// lose ends a write whose outcome this master cannot tell. A keyed write of its own clients waits for the next master,
// unless q is nil. Other writes are unknown.
func (w write) lose(q *queue, out *outbox) {
	if q != nil && w.mayRepeat() {
		q.push(w.inDoubt())
		return
	}
	out.answer(w, Unknown, LeaseLost, kv.Result{})
}

// inDoubt is the write, to be sent or proposed once more without an answer to this copy.
func (w write) inDoubt() write {
	w.doubt = true
	return w
}
