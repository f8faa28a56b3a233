package replica

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
)

// Whether a write is accepted is decided by the space of the best quorum with the master in it, not by that of the
// worst member: one full disk stops nobody else. A write that needs space wants SpaceEnough in a majority; a delete, a
// release or a renewal wants any space at all there.

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

// spaceFor reports whether the master may propose w. With too few members connected for any quorum the write waits for
// them instead: nobody knows yet what space there will be.
func (l *Log) spaceFor(w write) bool {
	return l.quorumWith(w.frees) || !l.quorumConnected()
}

// quorumWith reports whether this node and members connected to it that have space make a quorum: SpaceEnough, or, for
// what frees space, any.
func (l *Log) quorumWith(frees bool) bool {
	if !l.space.takes(frees) {
		return false
	}
	with := quorum.Of(l.cfg.Self.Node)
	for i := range l.peers {
		if p := &l.peers[i]; p.connected && p.space.takes(frees) {
			with.Add(p.node)
		}
	}
	return quorum.Reached(l.cfg.Core.Voters, with)
}

func (l *Log) quorumConnected() bool {
	with := quorum.Of(l.cfg.Self.Node)
	for i := range l.peers {
		if l.peers[i].connected {
			with.Add(l.peers[i].node)
		}
	}
	return quorum.Reached(l.cfg.Core.Voters, with)
}

// takes reports whether a member with space r is counted on for a write.
func (r Space) takes(frees bool) bool { return r == SpaceEnough || frees && r != SpaceNone }

// refuseFull refuses what waits to be proposed and has no space any more: it may have come in while there was some. It
// reports whether there is space for the rest.
func (l *Log) refuseFull() bool {
	if l.quorumWith(false) || !l.quorumConnected() {
		return true
	}
	all := !l.quorumWith(true)
	for _, w := range l.queue.take(func(w write) bool { return !w.own && (all || !w.frees) }) {
		l.answer(w, Refused, NoSpace, kv.Result{})
	}
	return !all
}

// SetSpace tells what is left on the own disk.
func (l *Log) SetSpace(r Space) {
	if r == l.space {
		return
	}
	tell := r.told() != l.space.told()
	l.space = r
	l.core.SetFull(r.refuses())
	l.core.SetShort(l.short())
	if tell {
		l.sendHeartbeats(0, 0)
	}
}

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

// short reports whether nothing may be kept on the disk that nobody needs.
func (l *Log) short() bool {
	return l.space != SpaceEnough || l.checkpoint.bytes(l) < l.cfg.CheckpointBytes
}

// Full lists the members that are short of space, as far as known: this node, and those connected to it.
func (l *Log) Full() []ballot.NodeID {
	var full []ballot.NodeID
	for _, id := range l.cfg.Core.Voters.IDs() {
		p := l.peer(id)
		if id == l.cfg.Self.Node && l.space != SpaceEnough || p != nil && p.connected && p.space != SpaceEnough {
			full = append(full, id)
		}
	}
	return full
}

// Relief is a member that should be master in place of this node, which is short of space: it has more, as have enough
// others for a quorum without this node, and it is caught up. 0: there is none, or no need.
func (l *Log) Relief() ballot.NodeID {
	if !l.ready || l.stopping || l.space == SpaceEnough || l.ticks < l.relieved {
		return 0
	}
	for _, frees := range [...]bool{false, true} {
		if l.space.takes(frees) {
			break
		}
		var with quorum.Set
		next := ballot.NodeID(0)
		for i := range l.peers {
			p := &l.peers[i]
			if !p.connected || !p.space.takes(frees) {
				continue
			}
			with.Add(p.node)
			if next == 0 && p.applied+reliefLag >= l.state.Applied() {
				next = p.node
			}
		}
		if next != 0 && quorum.Reached(l.cfg.Core.Voters, with) {
			l.relieved = l.ticks + reliefTicks
			return next
		}
	}
	return 0
}

const (
	reliefLag   = 1000 // slots that a successor may be behind
	reliefTicks = 250  // between two attempts to hand over
)
