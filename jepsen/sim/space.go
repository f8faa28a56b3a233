package sim

import (
	"bytes"

	"tenure/multipaxos"
	"tenure/server/replica"
)

// checkSpace is the oracle of full disks: a member that does not lead writes nothing that needs more than it has. What
// it holds already it may write again.
func (n *node) checkSpace(ps []multipaxos.Persist) {
	p := n.process
	least := multipaxos.NeedSpace
	switch {
	case p.led || p.space == replica.SpaceEnough || p.space == replica.SpaceLow:
		return
	case p.space == replica.SpaceNone:
		least = multipaxos.NeedReserve
	}
	for i := range ps {
		for _, e := range ps[i].Entries {
			if replica.NeedOf(e.Value) >= least && e.Ballot.Node != n.id && !n.holds(e) && !n.w.mayJam(p.space, e.Slot) {
				n.w.fail("full disk", "node %d has no space and writes slot %d, %d bytes", n.id, e.Slot, len(e.Value))
			}
		}
	}
}

// mayJam reports whether a member with space may store slot although it has no space for it: nobody has applied it, so
// the log may stand still without.
func (w *world) mayJam(space replica.Space, slot multipaxos.Slot) bool {
	if space != replica.SpaceTight {
		return false
	}
	for _, n := range w.nodes {
		if n.up() && n.process.log.Applied() >= slot {
			return false
		}
	}
	return true
}

// holds reports whether the value of e is in its slot on the disk, or on its way there.
func (n *node) holds(e multipaxos.Entry) bool {
	if old, ok := n.disk.entries[e.Slot]; ok && bytes.Equal(old.Value, e.Value) {
		return true
	}
	for _, ps := range [...][]multipaxos.Persist{n.committing, n.persists} {
		for i := range ps {
			for _, old := range ps[i].Entries {
				if old.Slot == e.Slot && bytes.Equal(old.Value, e.Value) {
					return true
				}
			}
		}
	}
	return false
}

// stayFull leaves one member full when the other faults end, so that a quorum with space has to go on without it: the
// writes that probe each node must succeed all the same. It is heard with the nodes whose disks are good.
func (w *world) stayFull() {
	r := stream(w.cfg.Seed, 11)
	if !w.plan.on(Low) || !r.chance(500) {
		return
	}
	var good []*node
	for _, n := range w.nodes {
		if !n.out && !n.wiped && !n.disk.rotten() {
			good = append(good, n)
		}
	}
	if len(good)-1 <= len(w.nodes)/2 {
		return
	}
	n := good[r.below(len(good))]
	n.space = pick(&r, replica.SpaceLow, replica.SpaceTight, replica.SpaceNone)
	if w.trace.on() {
		w.trace.note("node %d stays full: %v", n.id, n.space)
	}
}

// makeSpace ends that.
func (w *world) makeSpace() {
	for _, n := range w.nodes {
		n.space = replica.SpaceEnough
	}
}
