package replica

import (
	"time"

	"tenure/internal/quorum"
)

// How a node leaves. The entry that removes a voter is decided by the voters before it, the removed one among them. As
// long as only few nodes know that it is chosen, the others may need the removed one to find that out: of the voters 1
// and 2 node 1 is removed and ends, node 2 restarts before its disk has the chosen mark, and then waits for node 1 for
// ever. So a removed node stays, as one that has not heard of its removal yet: it answers, and votes under the
// memberships before. It tries for no lease any more. It leaves when a majority of the new voters says that the new
// membership is in force there: they go on without it, whichever of them restart, and this node's vote can be of no use
// to anybody. Those who know that end its connections, and tell it, if it has not heard.
//
// There is no bound of time. The node is needed for as long as the others are away, however long that is; and it costs
// nothing to wait, since it acknowledges nothing of the new membership, whose voters outnumber the rest without it.

// removed reports whether this node is no member any more, as far as it knows.
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

// announce hands out a membership that is to be made durable and put in force, once a restart would find the log
// through its entry, and know that it is chosen: the identity must not know more than the log, from which a restart
// learns who decides its slots. It also hands out the number of the newest membership that is held by a majority. One
// that removes this node is handed out only then.
func (l *Log) announce(now time.Duration) {
	own, _ := l.own.told(now, l.core.MarkedThrough())
	held := l.members.held(own)
	if n := l.members.newest.Number; held && n > l.own.parted {
		l.own.parted = n
		l.out.out.Parted = n
	}
	if l.own.announce && l.core.MarkedThrough() >= l.own.slot && (held || !l.members.removed()) {
		l.own.announce = false
		m := l.members.newest
		l.out.out.Members = &m
	}
}
