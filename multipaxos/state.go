package multipaxos

import "tenure/internal/ballot"

// Phase is where this node is as leader.
func (c *Core) Phase() Phase { return c.phase }

// Preempted tells that a higher ballot than the own attempt's was seen, here or elsewhere (M5). It stays so until
// Lead or Retire.
func (c *Core) Preempted() bool { return c.preempted }

// Ballot is the one of the newest attempt to lead since the last Retire; zero if there is none.
func (c *Core) Ballot() ballot.Ballot { return c.ballot }

// Promised is the acceptor's promise, durable or about to be.
func (c *Core) Promised() ballot.Ballot { return c.promised }

// Chosen is the slot up to which every slot is known to be chosen. It can be ahead of what is applied.
func (c *Core) Chosen() Slot { return c.chosen }

// SyncedThrough is the slot up to which the log is chosen and durable on this node. Only what is at or below it may
// be folded. It never falls.
func (c *Core) SyncedThrough() Slot { return min(c.synced, c.chosen) }

// Truncated is the slot up to which entries are gone from this node's log.
func (c *Core) Truncated() Slot { return c.log.truncated }

// Last is the highest slot in which this node accepted anything.
func (c *Core) Last() Slot { return c.log.last() }

// Ignored counts the messages that were not understood, not addressed to this node, or not from a voter.
func (c *Core) Ignored() uint64 { return c.ignored }

// ChosenEntries is a page of chosen entries from slot from, in a row, at least one if from ≤ Chosen. It errs with
// ErrTruncated if from is gone, and with ErrDamaged or the Reader's error if the disk does not hold it.
func (c *Core) ChosenEntries(from Slot, maxBytes int) ([]Entry, error) {
	if from > c.chosen {
		return nil, nil
	}
	if from <= c.log.truncated {
		return nil, ErrTruncated
	}
	return c.log.read(from, c.chosen, maxBytes)
}

// Applied is told that the state machine here holds everything through slot s.
func (c *Core) Applied(s Slot) {
	if s > c.chosen {
		panic("multipaxos: a slot was applied that is not chosen")
	}
	c.applied = max(c.applied, s)
}

// advertised is the chosen mark as others may know it. It is held back to what this node has applied, because
// followers show what they apply: nobody may be shown an entry before the master itself would show it.
func (c *Core) advertised() Slot { return min(c.chosen, c.applied) }

// PeerProgress is what this node knows of another voter.
type PeerProgress struct {
	Node    ballot.NodeID
	Chosen  Slot // as it last said
	Folded  Slot // its durable image, as it last said
	Acked   Slot // highest slot it acknowledged to this leader's ballot
	Pending int  // bytes sent to it and not acknowledged
}

// Peers is the progress of the other voters by rising id. It is news only on the leader.
func (c *Core) Peers() []PeerProgress {
	out := make([]PeerProgress, 0, len(c.peers))
	for i := range c.peers {
		p := &c.peers[i]
		out = append(out, PeerProgress{Node: p.node, Chosen: p.chosen, Folded: p.folded, Acked: p.acked, Pending: p.flightBytes})
	}
	return out
}
