package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/server/members"
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
	Synced       uint64          // through it every slot is chosen, and durable here
	TableBytes   int64           // applied and not yet checkpointed
	Queued       int             // writes
	InFlight     int             // slots
	Reads        int             // waiting
	Full         []ballot.NodeID // members that are short of space, as far as known
	Behind       bool            // others have truncated what this node lacks: it needs a snapshot
	Gone         uint64          // the highest slot that another is known to have truncated
	Peers        []PeerStatus    // the other members
	Strangers    []PeerStatus    // connected nodes that no membership known here lists
	Believes     bool            // no majority of the voters was heard to go by no newer membership: strangers are believed
	Agreed       uint64          // the newest slot at which a majority of the voters had the same digest as this node
	Hurried      uint64          // how often a voter's answer was late, so that everybody was sent what was held back
	Compared     uint64          // the newest slot of which this node has told a digest
	Dispute      Dispute         // voters differ, and no majority tells who is right; Slot 0: they do not
	Withheld     bool            // there is a Dispute that no operator has decided for this node; see snapshots.SenderView
	// Record is that of the members, as applied here.
	Record members.Record
	// Of the ready master alone: what the operation under way, or the newest membership, waits for, and how long that lasts
	// yet, 0 if it is not known.
	Waits      string
	SettleLeft time.Duration
	Level      LevelStatus
	Absence    IfStopped
}

// PeerStatus is another member as the log part has heard of it.
type PeerStatus struct {
	Node      ballot.NodeID
	Connected bool
	Applied   uint64
	Heard     time.Duration // 0: never
	Level     uint64        // the highest feature level that it knows, as last heard
	LevelTold bool          // it is connected, and said so just now
}

// Status is a copy: the caller may keep it.
func (l *Log) Status(now time.Duration) Status {
	behind, gone := l.core.Behind()
	s := Status{
		Master: l.master.node, Epoch: l.master.epoch, CaughtUp: l.master.caughtUp(l.state.Applied()),
		Promised: l.core.Promised(), Chosen: uint64(l.core.Chosen()), Applied: l.state.Applied(),
		Checkpointed: l.checkpoints.done, Truncated: uint64(l.core.Truncated()), Revision: l.state.Revision(),
		Synced:     uint64(l.core.SyncedThrough()),
		TableBytes: l.state.TableBytes(), Queued: len(l.queue.items) + l.forwards.open, InFlight: len(l.batches.inFlight),
		Reads: l.reads.count(), Full: l.members.full(), Behind: behind, Gone: uint64(gone),
	}
	s.Believes = l.members.believes(l.ticks)
	s.MasterAge, s.LeaseLeft = l.master.age(now)
	for i := range l.members.peers {
		p, to := &l.members.peers[i], &s.Peers
		if !p.listed {
			to = &s.Strangers
		}
		*to = append(*to, PeerStatus{Node: p.node, Connected: p.connected, Applied: p.applied, Heard: p.heard,
			Level: p.level, LevelTold: p.told && p.heardLately(now)})
	}
	s.Hurried = l.prompt.hurried
	s.Agreed, s.Compared, s.Dispute = l.digests.agreed, l.digests.newest.Slot, l.digests.dispute
	s.Record, s.Level = l.changes.record, l.levels.status(now, l.state.Level(), &l.members)
	s.Absence = l.members.ifStopped(now, s.Applied)
	s.Withheld = s.Dispute.Slot != 0 && !s.Dispute.decided(l.cfg.Self.Node, &s.Record)
	if l.epoch.ready {
		s.Waits, s.SettleLeft = l.changes.step.Why, l.settling.left(now)
	}
	return s
}

// Lists reports whether the newest membership known here lists the node of that id, other than this node. Before the
// first Status is made nobody is known.
func (s *Status) Lists(id ballot.NodeID) bool {
	return slices.ContainsFunc(s.Peers, func(p PeerStatus) bool { return p.Node == id })
}
