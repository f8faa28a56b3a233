package multipaxos

import "tenure/internal/ballot"

// Phase returns where this node is as leader.
func (c *Core) Phase() Phase { return c.leader.phase }

// Preempted reports whether a higher ballot than the own attempt's was seen, here or elsewhere (M5). It stays so until
// Lead or Retire.
func (c *Core) Preempted() bool { return c.leader.preempted }

// Ballot returns that of the newest attempt to lead since the last Retire; zero if there is none.
func (c *Core) Ballot() ballot.Ballot { return c.leader.ballot }

// ConfirmedRound returns the highest round for which a quorum of distinct voters, the own acceptor among them, answered
// under the current ballot; 0 if none. An answer to a later round answers the earlier ones, which began before it.
func (c *Core) ConfirmedRound() uint64 { return c.leader.confirm.done }

// Membership returns the membership that governs the next slot: the newest in the log, applied or not.
func (c *Core) Membership() Membership { return *c.acceptor.memberships.newest() }

// Promised returns the acceptor's promise, durable or about to be.
func (c *Core) Promised() ballot.Ballot { return c.acceptor.promised }

// Chosen returns the slot up to which every slot is known to be chosen. It can be ahead of what is applied.
func (c *Core) Chosen() Slot { return c.acceptor.chosen }

// SyncedThrough returns the slot up to which the log is chosen and durable on this node. Only what is at or below it
// may be checkpointed. It never falls.
func (c *Core) SyncedThrough() Slot { return min(c.acceptor.synced, c.acceptor.chosen) }

// MarkedThrough returns a slot through which a restart of this node finds everything in its log and knows that it is
// chosen. The chosen mark becomes durable later than the entries: Probe hastens it.
func (c *Core) MarkedThrough() Slot { return min(c.acceptor.synced, c.acceptor.writes.marks.durable) }

// Truncated returns the slot up to which entries are gone from this node's log.
func (c *Core) Truncated() Slot { return c.acceptor.log.truncated }

// Last returns the highest slot in which this node accepted anything.
func (c *Core) Last() Slot { return c.acceptor.log.last() }

// ChosenEntries returns a page of chosen entries from slot from, in a row, at least one if from ≤ Chosen. It errs
// with ErrTruncated if from is gone, and with ErrDamaged or the Reader's error if the disk does not hold it.
func (c *Core) ChosenEntries(from Slot, maxBytes int) ([]Entry, error) {
	if from > c.acceptor.chosen {
		return nil, nil
	}
	if from <= c.acceptor.log.truncated {
		return nil, ErrTruncated
	}
	return c.acceptor.log.read(from, c.acceptor.chosen, maxBytes)
}

// The methods below are for the policy above, which decides whether this node gets anywhere (M6). No transition of the
// log depends on them.

// Pieces returns a count that rises with each piece of the recovery or of the log that another voter has acknowledged
// to this node as leader: a page of a promise, or Accepts.
func (c *Core) Pieces() uint64 { return c.leader.pieces }

// Behind reports whether this node lacks chosen slots that others have truncated: a promise has shown it, or each other
// member was asked and none had them. It needs a snapshot then, unless one of them answers after all. gone is the
// highest slot that another node is known to have truncated; 0: none.
func (c *Core) Behind() (behind bool, gone Slot) {
	chosen := c.acceptor.chosen
	behind = chosen < c.leader.gone || c.learner.behind(c.others, chosen)
	return behind, max(c.leader.gone, c.learner.gone)
}
