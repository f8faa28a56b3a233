package sim

import (
	"fmt"

	"tenure/multipaxos"
	"tenure/server/replica"
)

var logKinds = [...]string{"", "Prepare", "Promise", "Accept", "Accepted", "Reject", "Heartbeat", "HeartbeatReply", "Fetch", "Learn",
	"Confirm", "Confirmed"}

// describe is a message of the log in a few words.
func describe(m *multipaxos.Message) string {
	s := fmt.Sprintf("%s %d→%d %v", logKinds[m.Kind], m.From, m.To, m.Ballot)
	if len(m.Entries) > 0 {
		s += fmt.Sprintf(" entries %d–%d", m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot)
	}
	for _, f := range []struct {
		name  string
		value multipaxos.Slot
	}{{"slot", m.Slot}, {"through", m.Through}, {"chosen", m.Chosen}, {"truncated", m.Truncated}, {"checkpointed", m.Checkpointed}} {
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

var peerKinds = [...]string{"", "Heartbeat", "Forward", "Forwarded", "ReadPoint", "ReadPointR"}

// describePeer is a message between log parts in a few words.
func describePeer(m *replica.Message) string {
	s := fmt.Sprintf("%s %d→%d", peerKinds[m.Kind], m.From, m.To)
	switch m.Kind {
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
		s += fmt.Sprintf(" #%d granted %v slot %d consistent %v", m.Read.ID&0xffff, m.Read.Granted, m.Read.Slot, m.Read.Consistent)
	}
	return s
}

var outcomeNames = [...]string{"none", "done", "refused", "unknown"}
