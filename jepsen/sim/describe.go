package sim

import (
	"fmt"

	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/leases"
)

var logKinds = [...]string{"", "Prepare", "Promise", "Accept", "Accepted", "Reject", "Mark", "MarkReply", "Fetch",
	"Learn", "Confirm", "Confirmed", "Gone"}

// describe returns a message of the log in a few words.
func describe(m *multipaxos.Message) string {
	s := fmt.Sprintf("%s %d→%d %v", logKinds[m.Kind], m.From, m.To, m.Ballot)
	if len(m.Entries) > 0 {
		s += fmt.Sprintf(" entries %d–%d", m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot)
	}
	for _, f := range []struct {
		name  string
		value multipaxos.Slot
	}{{"slot", m.Slot}, {"through", m.Through}, {"chosen", m.Chosen}, {"truncated", m.Truncated}} {
		if f.value != 0 {
			s += fmt.Sprintf(" %s %d", f.name, f.value)
		}
	}
	if !m.Promised.IsZero() {
		s += fmt.Sprintf(" promised %v", m.Promised)
	}
	if m.Round != 0 {
		s += fmt.Sprintf(" round %d", m.Round)
	}
	if m.Last {
		s += " last"
	}
	return s
}

var peerKinds = [...]string{"", "Heartbeat", "Forward", "Forwarded", "ReadPoint", "ReadPointR", "SnapshotAsk",
	"SnapshotPiece"}

// describePeer returns a message between log parts in a few words.
func describePeer(m *replica.Message) string {
	s := fmt.Sprintf("%s %d→%d", peerKinds[m.Kind], m.From, m.To)
	switch m.Kind {
	case replica.KindSnapshotAsk, replica.KindSnapshotPiece:
		s += fmt.Sprintf(" %+v", *m.Snapshot)
	case replica.KindHeartbeat:
		s += fmt.Sprintf(" applied %d", m.Heartbeat.Applied)
		if m.Heartbeat.Master {
			s += fmt.Sprintf(" master of epoch %d", m.Heartbeat.Epoch)
		}
	case replica.KindForward:
		s += fmt.Sprintf(" %d writes", len(m.Writes))
	case replica.KindForwarded:
		for _, a := range m.Answers {
			s += " " + outcomeNames[a.Outcome]
		}
	default:
		s += fmt.Sprintf(" #%d granted %v slot %d consistent %v", m.Read.ID&0xffff, m.Read.Granted, m.Read.Slot,
			m.Read.Consistent)
	}
	return s
}

var outcomeNames = [...]string{"none", "done", "refused", "unknown"}

// log puts a message that arrives into the trace.
func (t *trace) log(e *input) {
	if m := e.log; m != nil {
		t.mix(uint64(m.Kind)<<16|uint64(m.From), m.Ballot.Counter, uint64(m.Slot), uint64(m.Through), uint64(m.Chosen),
			uint64(len(m.Entries)))
		if t.on() {
			t.note("%s", describe(m))
		}
		return
	}
	m := e.peer
	t.mix(uint64(m.Kind)<<16|uint64(m.From), m.Heartbeat.Epoch, uint64(len(m.Writes)), uint64(len(m.Answers)),
		m.Read.Slot)
	if t.on() {
		t.note("%s", describePeer(m))
	}
}

// lease puts an event of the master lease that arrives into the trace.
func (t *trace) lease(e *leaseEvent) {
	if m := e.message; m != nil {
		t.mix(uint64(m.Kind)<<16|uint64(m.From), m.Ballot.Counter, m.Promised.Counter)
	}
	if c := e.crash; c != nil {
		t.mix(uint64(c.owner.Node), c.owner.Restart, uint64(len(c.counters)))
	}
	if !t.on() {
		return
	}
	switch {
	case e.message != nil:
		t.note("%v", *e.message)
	case e.crash != nil:
		t.note("%v has died, says its guardian: release %v", e.crash.owner, e.crash.counters)
	case e.nudged:
		t.note("hand-over: you next")
	default:
		t.note("hand-over: stand back")
	}
}

// named puts a batch about named leases that arrives into the trace.
func (t *trace) named(b *leases.Batch) {
	for i := range b.Requests {
		q := &b.Requests[i]
		t.mix(uint64(q.Kind), q.Counter, uint64(q.Token))
		if t.on() {
			t.note("%v %q #%d token %v", q.Kind, leaseText(q.Name), q.Counter, q.Token)
		}
	}
	for i := range b.Replies {
		r := &b.Replies[i]
		t.mix(uint64(r.Kind), r.Counter, uint64(r.Report))
		if t.on() {
			t.note("%v %q #%d report %v live %v %v", r.Kind, leaseText(r.Name), r.Counter, r.Report, r.Live,
				r.LiveToken)
		}
	}
}
