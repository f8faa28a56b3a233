package multipaxos

import "tenure/internal/ballot"

// Step takes one message. What is malformed, foreign or of an unknown kind is counted and ignored. An error is
// damage on this node's disk: it must stop.
func (c *Core) Step(m Message) error {
	if m.To != c.cfg.Self.Node || c.peer(m.From) == nil || !m.wellFormed() {
		c.ignored++
		return nil
	}
	c.see(m.Ballot)
	c.see(m.Promised)
	switch m.Kind {
	case KindPrepare:
		return c.handlePrepare(&m)
	case KindPromise:
		c.handlePromise(&m)
	case KindAccept:
		c.handleAccept(&m)
	case KindAccepted:
		c.handleAccepted(&m)
	case KindHeartbeat:
		c.handleHeartbeat(&m)
	case KindHeartbeatReply:
		c.handleHeartbeatReply(&m)
	case KindFetch:
		return c.handleFetch(&m)
	case KindLearn:
		c.handleLearn(&m)
	case KindConfirm:
		c.handleConfirm(&m)
	case KindConfirmed:
		c.handleConfirmed(&m)
	case KindReject: // see has done all that a rejection asks for
	}
	return nil
}

// wellFormed checks what can be checked without state. Leaders speak for themselves only: a ballot names its node.
func (m *Message) wellFormed() bool {
	if m.Ballot.Counter >= maxNumber || m.Promised.Counter >= maxNumber {
		return false
	}
	for _, s := range [...]Slot{m.Slot, m.Through, m.Chosen, m.Truncated, m.Folded} {
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
	case KindReject, KindHeartbeatReply, KindConfirmed:
		return reply
	case KindHeartbeat, KindConfirm:
		return own
	case KindFetch:
		return m.Slot > 0
	case KindLearn:
		return inARow(m.Entries) && m.Entries[len(m.Entries)-1].Slot <= m.Chosen
	}
	return false
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
