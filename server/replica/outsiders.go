package replica

import (
	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// Outsiders are connected nodes that the newest membership known here does not list. There are two kinds.
//
// A former member was removed. Others, who have not heard of that, may need its vote yet (removed.go). So it may answer.
//
// The id of a stranger is not given out yet, as far as this node knows. Either this node is behind, or the stranger's
// claim to a newer membership is false. All members that a node knows may have been replaced while it was away. Then
// only strangers have the entries chosen since. A node believes strangers after a while without a sign that it is up to
// date (membersView.upToDate), so never at its start, before the others have spoken. A node that stays cut off from the
// majority of its voters must believe any holder of a node's certificate.
//
// An outsider decides nothing here, and learns nothing of the state. Its Prepares, Accepts, Fetches, writes and
// questions for read points are dropped, and it never counts as master. Once this node learns the membership that lists
// it, it is a member like the others.

// outsider reports whether the newest membership known here does not list id.
func (m *membersView) outsider(id ballot.NodeID) bool {
	p := m.peer(id)
	return p == nil || !p.listed
}

// upToDate reports whether a majority of the voters is connected and goes by no newer membership than this node knows.
// The next one may be chosen all the same; then one of these voters has its entry, and can be elected to finish it. No
// later one is chosen: its entry needs a majority that has the next one in force (settling.go).
func (m *membersView) upToDate() bool {
	return m.quorumOf(func(p *peerView) bool { return p.told && p.inForce <= m.newest.Number })
}

// believeTicks is how long a node must have been without a majority (upToDate) before it believes strangers.
const believeTicks = 100

// believes reports whether strangers are believed now.
func (m *membersView) believes(tick uint64) bool {
	return !m.upToDate() && tick-m.assured >= believeTicks
}

// takesLog reports whether a message of the log is taken from an outsider.
func (m *membersView) takesLog(x *multipaxos.Message, tick uint64) bool {
	former := x.From < m.next
	switch x.Kind {
	case multipaxos.KindPromise, multipaxos.KindAccepted, multipaxos.KindMarkReply, multipaxos.KindConfirmed:
		return former
	case multipaxos.KindLearn, multipaxos.KindGone:
		return !former && m.believes(tick)
	}
	return false
}

// takes reports whether a message of the log part is taken from whoever has sent it, beside heartbeats.
func (m *membersView) takes(x *Message) bool {
	answers := x.Kind == KindForwarded || x.Kind == KindReadPointR
	return !m.outsider(x.From) || answers && x.From < m.next
}

// hearOutsider takes a heartbeat of an outsider. It reports whether to ask it for entries that this node lacks.
func (m *membersView) hearOutsider(from ballot.NodeID, h Heartbeat, tick uint64) bool {
	p := m.peer(from)
	if p == nil {
		return false
	}
	p.applied = h.Applied
	return from >= m.next && m.believes(tick)
}
