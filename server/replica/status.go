package replica

import (
	"time"

	"tenure/internal/ballot"
)

// Status is the log part for a status page.
type Status struct {
	Master       ballot.NodeID // 0: unknown
	Epoch        uint64
	MasterAge    time.Duration // since it was last heard
	LeaseLeft    time.Duration // a hint (L1)
	CaughtUp     bool
	Promised     ballot.Ballot
	Chosen       uint64
	Applied      uint64
	Checkpointed uint64
	Truncated    uint64
	Revision     uint64
	TableBytes   int64           // applied and not yet checkpointed
	Queued       int             // writes
	InFlight     int             // slots
	Reads        int             // waiting
	Full         []ballot.NodeID // members that are short of space, as far as known
	Peers        []PeerStatus
}

// PeerStatus is another member as the log part has heard of it.
type PeerStatus struct {
	Node    ballot.NodeID
	Chosen  uint64
	Applied uint64
	Heard   time.Duration // 0: never
}

// Status is a copy: the caller may keep it.
func (l *Log) Status(now time.Duration) Status {
	s := Status{
		Master: l.master.node, Epoch: l.master.epoch, CaughtUp: l.master.caughtUp(l.state.Applied()),
		Promised: l.core.Promised(), Chosen: uint64(l.core.Chosen()), Applied: l.state.Applied(),
		Checkpointed: l.checkpoints.done, Truncated: uint64(l.core.Truncated()), Revision: l.state.Revision(),
		TableBytes: l.state.TableBytes(), Queued: len(l.queue.items) + l.forwards.open, InFlight: len(l.batches.inFlight),
		Reads: l.reads.count(), Full: l.members.full(),
	}
	s.MasterAge, s.LeaseLeft = l.master.age(now)
	for _, p := range l.members.peers {
		s.Peers = append(s.Peers, PeerStatus{Node: p.node, Chosen: p.applied, Applied: p.applied, Heard: p.heard})
	}
	return s
}
