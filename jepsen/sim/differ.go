package sim

import (
	"time"

	"tenure/kv"
	"tenure/server/replica"
)

// A state that differs. Once in a run a record comes into the state database of a node that no command has put there,
// as a fault of memory or a disk might that no checksum shows. What a run checks: nobody is accused in runs without it; a
// node that is accused has that record, unless a majority took it over by snapshots; and when the faults are over and
// those without it are a majority, none with it runs for long.

// differKey is the key of that record. No client uses it.
const differKey = "\xf4\x8f\xbf\xbfdiffer"

// differRecord is an entry as package kv writes it: version, flags, create, modify and lock index, value.
var differRecord = []byte{1, 0, 1, 1, 0, 'x'}

// drawDiffer draws from a stream of its own. The class is for clusters whose members do not change.
func (p *plan) drawDiffer(seed uint64) {
	r := stream(seed, 62)
	if r.chance(150) && !p.members.on && p.nodes >= 3 {
		p.faults |= Differ
	}
	p.every[Differ.index()] = r.skewed(50*time.Millisecond, time.Second)
}

// differOne puts the record into the state of a node, once in a run.
func differOne(x *nemesis, r *random) {
	n := x.victim(r)
	if x.differs || n.disk.checkpointed() == 0 || n.disk.parted != nil || !x.mayLose(n, false) {
		return
	}
	x.differs = true
	x.effect(Differ)
	n.disk.stateDB.Tamper(kv.SpaceData, []byte(differKey), differRecord)
}

// differs reports whether the record is in the state of this disk.
func (d *disk) differs() bool {
	v, _ := d.stateDB.View() // its error is always nil
	defer v.Close()
	record, _ := v.Get(kv.SpaceData, []byte(differKey))
	return record != nil
}

// differs ends the node that is accused.
func (n *node) differs(err *replica.Differs) {
	with := 0
	for _, e := range n.site.net.nodes {
		if e.drive.differs() {
			with++
		}
	}
	if !n.disk.differs() && with <= n.plan.nodes/2 {
		n.fail("who differs", "node %d has the right state, %d others have not, and it ends: %v", n.id, with, err)
	}
	n.stop(err)
}

// undecided reports whether voters dispute whose state is right while a third lacks what they have truncated: it cannot
// catch up, since voters get no snapshots from each other meanwhile, and nobody can tell but people.
func (x *aftermath) undecided() bool {
	behind, disputes := false, false
	for _, n := range x.nodes {
		if !n.takesPart() || !n.up() {
			continue
		}
		s := n.log.log.Status(n.reading())
		switch {
		case s.Behind:
			behind = true
		case s.Dispute.Slot != 0:
			disputes = true
		}
	}
	return behind && disputes && x.now > x.healed+x.within()/2
}

// found reports whether no node runs that differs, or so many do that nobody can tell.
func (x *aftermath) found() bool {
	with, without := 0, 0
	for _, n := range x.nodes {
		switch {
		case !n.takesPart():
		case n.disk.differs():
			with++
		default:
			without++
		}
	}
	return with == 0 || without <= x.plan.nodes/2
}
