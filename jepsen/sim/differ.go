package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/replica"
)

// A state that differs. Once in a run a record comes into the state database of a node that no command has put there,
// as a fault of memory or a disk might that no checksum shows. A run checks the accusations: without the fault nobody
// is accused, and an accused node has the record, unless a majority took it over by snapshots. When the faults are over
// and nodes without the record are a majority, no node with the record runs for long.
//
// Where members change, no node with the record becomes a voter beside a majority without it, whatever copies are made
// (members.md, While replicas differ). The operator knows who is right, and ends disputes.

// differKey is the key of that record. No client uses it.
const differKey = "\xf4\x8f\xbf\xbfdiffer"

// differRecord is an entry as package kv writes it: version, flags, create, modify and lock index, value.
var differRecord = []byte{1, 0, 1, 1, 0, 'x'}

// drawDiffer draws from a stream of its own.
func (p *plan) drawDiffer(seed uint64) {
	r := stream(seed, 62)
	if r.chance(150) && p.nodes >= 3 {
		p.faults |= Differ
	}
	p.every[Differ.index()] = r.skewed(50*time.Millisecond, time.Second)
}

// differOne puts the record into the state of a node, once in a run.
func differOne(x *nemesis, r *random) {
	n := x.victim(r)
	if x.differs || n.disk.checkpointed() == 0 || n.disk.parted != nil || x.plan.members.on && !x.operator.mayDiffer(n) ||
		!x.mayLose(n, false) {
		return
	}
	x.differs = true
	x.effect(Differ)
	n.disk.stateDB.Tamper(kv.KindData, []byte(differKey), differRecord)
}

// differs reports whether the record is in the state of this disk.
func (d *disk) differs() bool {
	v, _ := d.stateDB.View() // its error is always nil
	defer v.Close()
	record, _ := v.Get(kv.KindData, []byte(differKey))
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
	if n.plan.members.on {
		with = n.plan.nodes
		if voters, _ := n.site.members.voting(); !n.site.members.differing().majorityOf(voters) {
			with = 0
		}
	}
	if !n.disk.differs() && with <= n.plan.nodes/2 {
		n.fail("who differs", "node %d has the right state, %d others have not, and it ends: %v", n.id, with, err)
	}
	n.stop(err)
}

// undecided reports whether voters dispute whose state is right while a third lacks slots that they have truncated. The
// third cannot catch up, since voters get no snapshots from each other meanwhile, and only people can decide.
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
	if h := x.operator.world.members; x.plan.members.on {
		voters, _ := h.voting()
		right := voters &^ h.differing()
		runs := slices.ContainsFunc(x.nodes, func(n *node) bool { return n.takesPart() && n.disk.differs() })
		return !runs || !right.majorityOf(voters)
	}
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

// differing returns the machines with the record in their state.
func (h *memberHistory) differing() (s machineSet) {
	for _, d := range h.drives {
		if d.differs() {
			s |= 1 << d.i
		}
	}
	return s
}

// checkCopies checks a change of the voters: who joins them has not the record, unless most of them have.
func (h *memberHistory) checkCopies(s multipaxos.Slot, before, after machineSet) {
	if !h.plan.on(Differ) {
		return
	}
	if with := h.differing(); with&after&^before != 0 && !with.majorityOf(before) {
		h.fail("a copy decides no dispute", "slot %d makes voters %b of %b, and machines %b have another state than the others",
			s, after, before, with)
	}
}

// mayDiffer reports whether the state of n may come to differ: it is one of at least three voters, and none of the
// others is about to leave.
func (x *operator) mayDiffer(n *node) bool {
	voters, before := x.world.members.voting()
	_, spare := x.world.members.bySpare()
	return before == 0 && !spare && len(x.asks) == 0 && voters.has(n.i) && bits.OnesCount16(uint16(voters)) >= 3
}

// keeps reports whether the operator keeps a member because it is right where another one is not: without it nobody
// could tell.
func (x *operator) keeps(id ballot.NodeID) bool {
	m := x.world.members.machine(id)
	return x.world.nemesis.differs && m != nil && !x.lost(id) && !x.world.members.differing().has(m.i)
}

// gone reports whether a node does not run and never will again. One whose disk is of no more use may run on and
// dispute.
func (x *operator) gone(id ballot.NodeID) bool {
	return x.lost(id) && !slices.ContainsFunc(x.world.nodes, func(n *node) bool { return n.id == id && n.up() })
}

// accused reports whether some node disputes with that one. It may do so after the other one is gone.
func (x *operator) accused(id ballot.NodeID) bool {
	return slices.ContainsFunc(x.world.nodes, func(n *node) bool {
		return n.up() && n.takesPart() && slices.ContainsFunc(n.log.log.Status(n.reading()).Dispute.Other,
			func(o replica.DigestOf) bool { return o.Node == id })
	})
}

// wrongest returns the voter to be removed first while voters dispute, or 0: one that is gone, else one with the
// record, an accused one before the others. A voter that is too far behind to be compared is not removed: it gets the
// right state once the others are rid of the wrong one.
func (x *operator) wrongest() (id ballot.NodeID) {
	with, most := x.world.members.differing(), 0
	for _, m := range x.world.members.newRecord.Membership.Members {
		o, rank := x.world.members.machine(m.Node), 0
		switch {
		case o == nil:
		case x.gone(m.Node):
			rank = 3
		case with.has(o.i) && x.accused(m.Node):
			rank = 2
		case with.has(o.i):
			rank = 1
		}
		if rank > most {
			id, most = m.Node, rank
		}
	}
	return id
}

// decide ends a dispute, knowing who is right. It takes back the operations that wait for the end of the dispute, and
// removes first the voters that are gone and then the wrong one. It reports whether there is no dispute.
func (x *operator) decide() bool {
	disputes := slices.ContainsFunc(x.world.nodes, func(n *node) bool {
		return n.up() && n.takesPart() && n.log.log.Status(n.reading()).Dispute.Slot != 0
	})
	if !disputes {
		return true
	}
	for _, c := range x.asks { // a removal that began before the dispute waits for its end, too
		c.cancel = c.cancel || c.op.Kind != members.Remove || !c.op.Differs && !x.gone(c.op.Node)
	}
	if op, ok := x.world.members.bySpare(); ok {
		x.recall(op)
	}
	if len(x.asks) > 0 {
		return false
	}
	op := members.Operation{Kind: members.Remove}
	if op.Node = x.wrongest(); op.Node == 0 {
		return false
	}
	op.Differs = !x.gone(op.Node) || x.accused(op.Node)
	x.begun++
	op.ID = fmt.Sprintf("op-%d", x.begun)
	c := &change{operator: x, op: op}
	x.asks = append(x.asks, c)
	c.ask()
	return false
}
