package multipaxos

import "tenure/internal/ballot"

// Kind tells what a Message says.
type Kind uint8

// The messages of the log. See Message for which fields each uses.
const (
	KindPrepare Kind = iota + 1
	KindPromise
	KindAccept
	KindAccepted
	KindReject
	KindMark
	KindMarkReply
	KindFetch
	KindLearn
	KindConfirm
	KindConfirmed
	KindGone
)

// Message is one message of the log between two nodes. It is what travels in the frames of the log connection.
//
//	kind            from      uses
//	Prepare         leader    Ballot, Slot (first slot asked for; also the next page)
//	Promise         acceptor  Ballot, Slot (first slot of this page), Entries, Last (no page follows), Truncated, Chosen,
//	                          Membership
//	Accept          leader    Ballot, Entries (slots in a row, all of this ballot), Chosen (as applied by the leader)
//	Accepted        acceptor  Ballot, Slot and Through (the slots accepted, in a row)
//	Reject          acceptor  Ballot (the one refused), Promised
//	Mark            leader    Ballot, Chosen (as applied by the leader), Through (last slot sent to this peer)
//	MarkReply       acceptor  Ballot, Slot (first slot of this ballot it lacks, 0 if none)
//	Fetch           learner   Slot (first chosen slot wanted)
//	Learn           any       Entries (chosen, slots in a row), Chosen (as applied by the sender)
//	Confirm         leader    Ballot, Round
//	Confirmed       acceptor  Ballot, Round
//	Gone            any       Slot (of the Fetch), Truncated: the answer to a Fetch of what is truncated
type Message struct {
	Kind       Kind
	From, To   ballot.NodeID
	Ballot     ballot.Ballot
	Promised   ballot.Ballot
	Slot       Slot
	Through    Slot
	Chosen     Slot
	Truncated  Slot
	Round      uint64
	Membership uint64
	Last       bool
	Entries    []Entry
}

// wellFormed checks what can be checked without state. Leaders speak for themselves only: a ballot names its node.
func (m *Message) wellFormed() bool {
	if m.Ballot.Counter >= maxNumber || m.Promised.Counter >= maxNumber {
		return false
	}
	for _, s := range [...]Slot{m.Slot, m.Through, m.Chosen, m.Truncated} {
		if s >= maxNumber {
			return false
		}
	}
	own := !m.Ballot.IsZero() && m.Ballot.Node == m.From
	reply := !m.Ballot.IsZero() && m.Ballot.Node == m.To
	switch m.Kind {
	case KindPrepare:
		return own && m.Slot > 0
	case KindPromise:
		return reply && m.Slot > 0 && m.goodPage()
	case KindAccept:
		return own && inARow(m.Entries) && sameBallot(m.Entries, m.Ballot)
	case KindAccepted:
		return reply && m.Slot > 0 && m.Through >= m.Slot
	case KindReject, KindMarkReply, KindConfirmed:
		return reply
	case KindMark, KindConfirm:
		return own
	case KindFetch:
		return m.Slot > 0
	case KindGone:
		return m.Slot > 0 && m.Truncated >= m.Slot
	case KindLearn:
		return inARow(m.Entries) && m.Entries[len(m.Entries)-1].Slot <= m.Chosen
	}
	return false
}

// counter returns the highest counter of the ballots in m.
func (m *Message) counter() uint64 {
	highest := max(m.Ballot.Counter, m.Promised.Counter)
	for i := range m.Entries {
		highest = max(highest, m.Entries[i].Ballot.Counter)
	}
	return highest
}

// goodPage: entries rise from the page's first slot, under ballots the promise allows; only the last page is empty.
func (m *Message) goodPage() bool {
	next := m.Slot
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Slot < next || e.Slot >= maxNumber || e.Ballot.IsZero() || m.Ballot.Less(e.Ballot) {
			return false
		}
		next = e.Slot + 1
	}
	return m.Last || len(m.Entries) > 0
}

func inARow(es []Entry) bool {
	if len(es) == 0 || es[0].Slot == 0 || es[0].Slot >= maxNumber {
		return false
	}
	for i := range es {
		if es[i].Slot != es[0].Slot+Slot(i) || es[i].Ballot.IsZero() || es[i].Ballot.Counter >= maxNumber {
			return false
		}
	}
	return true
}

func sameBallot(es []Entry, b ballot.Ballot) bool {
	for i := range es {
		if es[i].Ballot != b {
			return false
		}
	}
	return true
}
