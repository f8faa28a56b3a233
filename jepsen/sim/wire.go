package sim

import (
	"bytes"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// checkSent looks at a message of the log as it leaves: what it says of this node's disk must be durable by now. The
// ledger remembers what was ever durable, since a newer vote may have replaced an entry while the message waited.
func (n *node) checkSent(m *multipaxos.Message) {
	d := n.disk
	switch m.Kind {
	case multipaxos.KindPrepare:
		n.mustHavePromised(m, m.Ballot)
	case multipaxos.KindAccept:
		n.mustHavePromised(m, m.Ballot)
		for i := range m.Entries {
			n.checkProposal(&m.Entries[i])
			n.w.ballot(&m.Entries[i])
		}
	case multipaxos.KindPromise:
		n.mustHavePromised(m, m.Ballot)
		n.checkReport(m)
	case multipaxos.KindAccepted:
		n.mustHavePromised(m, m.Ballot)
		n.mustHaveCheckpointed(m)
		for s := m.Slot; s <= m.Through; s++ {
			if s > d.checkpointed() && !n.hasVoted(s, m.Ballot) {
				n.w.fail("accept before reply", "node %d says that it accepted slot %d under %v, and that is not durable", n.id, s, m.Ballot)
			}
		}
	case multipaxos.KindHeartbeatReply:
		n.mustHaveCheckpointed(m)
	}
}

// noteConfirmed looks at the words of an output that confirm a leader, when they are made: what this node promises
// before they leave makes them no less true.
func (n *node) noteConfirmed(ms []multipaxos.Message) {
	if len(ms) == 0 || n.confirmedIn == &ms[0] {
		return
	}
	n.confirmedIn = &ms[0]
	for i := range ms {
		m := &ms[i]
		if m.Kind != multipaxos.KindConfirmed {
			continue
		}
		if n.disk.marks.Promised.Compare(m.Ballot) > 0 {
			n.w.fail("confirmed under a higher promise", "node %d confirms %v and has promised %v", n.id, m.Ballot, n.disk.marks.Promised)
		}
		l := n.w.node(m.To)
		n.w.confirmed[l.i][n.i] = confirmation{counter: m.Ballot.Counter, run: l.runOf(m.Ballot), at: n.w.now}
	}
}

// runOf is n's run if b is a ballot of it.
func (n *node) runOf(b ballot.Ballot) uint64 {
	if n.up() && b.Node == n.id {
		return n.run
	}
	return 0
}

func (n *node) mustHavePromised(m *multipaxos.Message, b ballot.Ballot) {
	if n.disk.marks.Promised.Less(b) {
		n.w.fail("promise before reply", "node %d sends %s, and its disk holds only the promise %v", n.id, describe(m), n.disk.marks.Promised)
	}
}

func (n *node) mustHaveCheckpointed(m *multipaxos.Message) {
	if m.Checkpointed > n.disk.checkpointed() {
		n.w.fail("checkpointed before reply", "node %d sends %s, and its state database holds slot %d", n.id, describe(m), n.disk.checkpointed())
	}
}

// checkReport: everything that a promise reports must have been durable here.
func (n *node) checkReport(m *multipaxos.Message) {
	for i := range m.Entries {
		if e := &m.Entries[i]; !n.hasVoted(e.Slot, e.Ballot) {
			n.w.fail("promise before reply", "node %d reports slot %d under %v, and that was never durable", n.id, e.Slot, e.Ballot)
		}
	}
}

// hasVoted tells whether n's vote for slot s under b was durable at some time. A vote under a higher ballot will do: it
// may have replaced this one in the same commit, and any value chosen under b is then its value too. So will the
// value that was chosen.
func (n *node) hasVoted(s multipaxos.Slot, b ballot.Ballot) bool {
	f := n.w.ledger.slot(s)
	voted := false
	var under *vote
	for i := range f.votes {
		v := &f.votes[i]
		if v.ballot == b {
			under = v
		}
		if v.nodes&(1<<n.i) != 0 && (!v.ballot.Less(b) || f.chosen && bytes.Equal(v.value, f.value)) {
			voted = true
		}
	}
	if voted && under != nil {
		under.nodes |= 1 << n.i
	}
	return voted
}
