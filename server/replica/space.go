package replica

import (
	"tenure/kv"
	"tenure/multipaxos"
)

// Space is what is left on a node's disk.
type Space uint8

// The states of a disk. Deletes take space in the log before they free any in the state database, so they also have a
// limit. The numbers travel; SpaceTight does not, peers are told SpaceLow.
const (
	SpaceEnough Space = 0
	SpaceLow    Space = 1 // the reserve or the quota is reached: the member counts as full, and still stores what comes
	SpaceNone   Space = 2 // not even deletes
	SpaceTight  Space = 3 // storage's Usage.Tight: the member refuses entries that need space
)

// told is what peers hear of r.
func (r Space) told() Space {
	if r == SpaceTight {
		return SpaceLow
	}
	return r
}

// String returns the name of r, for logs and status.
func (r Space) String() string {
	switch r {
	case SpaceEnough:
		return "enough"
	case SpaceLow, SpaceTight:
		return "low"
	}
	return "none"
}

// The space of the best quorum with the master in it decides whether a write is accepted, not that of the worst member:
// one full disk does not stop the others. A write that needs space wants SpaceEnough in a majority; a delete, a release
// or a renewal wants any space at all there. See members.

// NeedOf is what a log entry with this value needs of a member's disk.
func NeedOf(value []byte) multipaxos.Need {
	switch {
	case len(value) == 0 || value[0] != tagBatch:
		return multipaxos.NeedNothing
	case kv.BatchFrees(value[1:]):
		return multipaxos.NeedReserve
	}
	return multipaxos.NeedSpace
}

// takes reports whether a member with space r is counted on for a write.
func (r Space) takes(frees bool) bool { return r == SpaceEnough || frees && r != SpaceNone }

// refuses is the least need that a member with space r refuses.
func (r Space) refuses() multipaxos.Need {
	switch r {
	case SpaceTight:
		return multipaxos.NeedSpace
	case SpaceNone:
		return multipaxos.NeedReserve
	}
	return multipaxos.NeedNothing
}

// Disk is what the log part must know of this node's disk.
type Disk struct {
	Space Space
	// CheckpointBytes is how large a checkpoint there is space for, on top of all else that is written; 0: there is no
	// bound but Config's. Where it is less than Config.CheckpointBytes the log's tail is short too.
	CheckpointBytes int64
	StateDBBytes    int64 // of the durable state database
}

// SetDisk tells what is left on this node's disk.
func (l *Log) SetDisk(d Disk) {
	r := d.Space
	tell := r.told() != l.members.space.told()
	l.members.space, l.checkpoints.space, l.checkpoints.stateDB = r, d.CheckpointBytes, d.StateDBBytes
	l.core.SetSpace(r.refuses(), l.checkpoints.short(r))
	if tell {
		l.members.announce(l.heartbeat(l.now), &l.out)
	}
}
