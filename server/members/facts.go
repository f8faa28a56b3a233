package members

import (
	"math"
	"time"

	"tenure/internal/ballot"
)

// Facts are the master's knowledge that no record holds.
type Facts struct {
	Self ballot.NodeID // the master
	Era  uint32        // the next one: what a change of the voters allots
	// Level is the cluster's feature level.
	Level uint64
	// Slot is the newest applied slot. The id of an operation that a spare begins contains it.
	Slot  uint64
	Nodes []Node // the other members, as far as they are known
	// Settled reports that the newest membership has settled. If not, SettleWhy says why.
	Settled   bool
	SettleWhy string
	// Disputed are the voters whose states differ while no majority agrees, by rising id.
	Disputed []ballot.NodeID
	// Checkpoints: this node writes a checkpoint.
	Checkpoints bool
	// Unchanged is for how long the record has been as it is, as far as this node knows.
	Unchanged time.Duration
}

// Node is what the master knows of another member.
type Node struct {
	ID ballot.NodeID
	// Alive: it is connected, and Silent is short: it was heard just now, or the master is new.
	Alive bool
	// Silent is for how long the master has not heard it, counted from when it became master at most.
	Silent time.Duration
	// CaughtUp: it is alive, and has applied what the master had applied a moment ago.
	CaughtUp bool
	// Quarantine is for how long its acceptor of the master lease answers nothing yet, since it has just started (A4).
	Quarantine time.Duration
	// InForce is the number of the membership that it has acknowledged; 1: of none since bootstrap's.
	InForce uint64
	// Agrees: at the slot of the newest record, or a later one, its state is that of a majority of the voters.
	Agrees bool
	// Old: it runs a version that knows nothing of changes of the members.
	Old bool
}

// well returns the Node of a member without any problem.
func well(id ballot.NodeID) Node {
	return Node{ID: id, Alive: true, CaughtUp: true, Agrees: true, InForce: math.MaxUint64}
}

// node returns the known state of a node. The master itself counts as well.
func (f *Facts) node(id ballot.NodeID) Node {
	if id == f.Self {
		return well(id)
	}
	for _, n := range f.Nodes {
		if n.ID == id {
			return n
		}
	}
	return Node{ID: id}
}
