package replica

import "tenure/internal/quorum"

// How a node leaves. The entry that removes a voter is decided by the voters before it, the removed one among them.
// While only few nodes know that the entry is chosen, the others may need the removed node to learn it. Of the voters 1
// and 2, node 1 is removed and ends. Node 2 restarts before its disk has the chosen mark, and then waits for node 1 for
// ever. So a removed node goes on as if it had not heard of its removal: it answers, and votes under the previous
// memberships. It tries for no lease any more. It leaves when a majority of the new voters reports that the new
// membership is in force there. From then on they go on without it, even after restarts, and its vote is of no use.
// Nodes that know of that majority end its connections, and tell it of the removal if it has not heard.
//
// There is no bound of time, since the others may be away for any time. Waiting costs nothing: the node acknowledges
// nothing of the new membership, and the new voters are a majority without it.

// removed reports whether this node, as far as it knows, is no longer a member.
func (m *membersView) removed() bool {
	_, _, listed := m.newest.Find(m.self)
	return !listed
}

// held reports whether a majority of the voters of the newest membership has it durable; own is what this node's
// heartbeats say. The first membership was made durable everywhere before anybody began.
func (m *membersView) held(own uint64) bool {
	number := m.newest.Number
	if number <= 1 {
		return true
	}
	var with quorum.Set
	if m.votes() && own >= number {
		with.Add(m.self)
	}
	for i := range m.peers {
		if p := &m.peers[i]; m.voters.Has(p.node) && p.inForce >= number {
			with.Add(p.node)
		}
	}
	return quorum.Reached(m.voters, with)
}
