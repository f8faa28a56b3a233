package replica

import (
	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// Strangers are connected nodes that no membership known here has listed: their ids are not yet given out, as far as this
// node knows. Either this node is behind, or they only say that they go by a newer membership. So a stranger decides
// nothing here, and is told nothing of the state: no Prepare and no Accept of it is taken, no write and no read point is
// forwarded, and it is never taken for the master.
//
// Of the members that a node knows all may have been replaced while it was away. Then strangers alone can tell it what
// was chosen since. It learns from them unless it has reason to think that it is not behind (membersView.upToDate).
// Once it has learned of the membership that lists them they are members like the others. A node that was removed is no
// stranger: others may need its vote yet (removed.go).
//
// A node that is cut off from the majority of its voters must believe whoever has a node's certificate.

// stranger reports whether id is a stranger's.
func (m *membersView) stranger(id ballot.NodeID) bool {
	p := m.peer(id)
	return (p == nil || !p.listed) && id >= m.next
}

// upToDate reports whether a majority of the voters is connected and goes by no newer membership than this node knows.
// The next one may be chosen all the same; then one of these voters has its entry, and can be elected to finish it. No
// later one is chosen: its entry needs a majority that has the next one in force (settling.go).
func (m *membersView) upToDate() bool {
	return m.quorumOf(func(p *peerView) bool { return p.told && p.inForce <= m.newest.Number })
}

// stepStranger takes a message of the log from a stranger.
func (l *Log) stepStranger(m *multipaxos.Message) error {
	if l.members.upToDate() {
		return nil
	}
	switch m.Kind {
	case multipaxos.KindLearn, multipaxos.KindGone:
		return l.core.Step(*m)
	}
	return nil
}

// hearStranger takes a heartbeat of a stranger: it may have what this node lacks.
func (l *Log) hearStranger(from ballot.NodeID, h Heartbeat) {
	p := l.members.peer(from)
	if p == nil {
		return
	}
	p.applied = h.Applied
	if h.Applied > l.state.Applied() && !l.members.upToDate() {
		l.core.Ask(from)
	}
}

// Stranger reports whether no membership known here has listed the node of that id. Before the first Status is made
// nobody is known.
func (s *Status) Stranger(id ballot.NodeID) bool {
	for i := range s.Peers {
		if s.Peers[i].Node == id {
			return false
		}
	}
	return id >= s.next
}
