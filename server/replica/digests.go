package replica

import (
	"cmp"
	"fmt"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/server/members"
)

// Digest is a digest of the whole state after a slot, in format kv.DigestFormat.
type Digest struct {
	Slot uint64
	Sum  uint64
}

// maxDigests is the number of digests for comparison that a node remembers and reports, besides that of its newest
// checkpoint. It is enough that nodes which are some seconds apart have a slot in common.
const maxDigests = 4

// MaxDigests bounds the digests in a heartbeat.
const MaxDigests = maxDigests + 1

// DigestOf is the digest that a node reports for some slot.
type DigestOf struct {
	Node ballot.NodeID
	Sum  uint64
}

// Differs is the error that ends the log part when a majority of the voters agree on a state that differs from this
// node's. The node must not be started on its data directory again.
type Differs struct {
	Slot     uint64
	Own, All uint64          // digests at Slot: of this node, and of the nodes in Agree
	Agree    []ballot.NodeID // the voters that agree with each other, sorted
}

// Error returns one line with the finding and what to do.
func (d *Differs) Error() string {
	return fmt.Sprintf("the state of this node differs from that of the others: at slot %d its digest is %016x, and "+
		"nodes %v, a majority of the voters, have %016x; the node stops, and must not be started on this directory "+
		"again: rebuild it with kvnode rejoin, or replace it with kvctl member replace", d.Slot, d.Own, d.Agree, d.All)
}

// Dispute is a slot at which voters differ and no majority is known to agree, so the right state is unknown.
type Dispute struct {
	Slot  uint64 // 0 if there is no dispute
	Own   uint64
	Other []DigestOf // the voters that differ from this node, sorted by node
}

// decided reports whether an operator has decided a dispute for self: the only voter that differs from self is being
// removed as the wrong one. The removal may wait for voters that lag, and those voters for a snapshot.
func (d *Dispute) decided(self ballot.NodeID, r *members.Record) bool {
	o, runs := r.Running()
	return runs && o.Kind == members.Remove && o.Differs && o.Node != self &&
		len(d.Other) == 1 && d.Other[0].Node == o.Node
}

// String returns one line for logs, status and answers.
func (d Dispute) String() string {
	var b []byte
	for _, o := range d.Other {
		b = fmt.Appendf(b, ", that of node %d is %016x", o.Node, o.Sum)
	}
	return fmt.Sprintf("replicas differ, and no majority tells which of them is right: at slot %d the digest of this "+
		"node's state is %016x%s; nothing is truncated, copied to other nodes or backed up until a third node has told, "+
		"or an operator removes the one that is wrong: kvctl member remove N --differs", d.Slot, d.Own, b)
}

// digests compares the state of this node with those of the others, at slots for which both digests are known. Only the
// digests of voters of the newest membership count: a majority that agrees is right, and any node that differs from it
// stops, voter or not. A digest of another slot or format is ignored.
type digests struct {
	compared []Digest // chosen by compareSlots, sorted by slot
	newest   Digest   // of the newest checkpoint; zero if unknown
	told     []Digest // sent in heartbeats; replaced, never modified
	agreed   uint64   // newest slot at which a majority is known to agree with this node
	dispute  Dispute
}

// add records the digest of a new checkpoint. compare says whether the checkpoint was made for comparison.
func (d *digests) add(x Digest, compare bool) {
	if x.Slot == 0 || x.Sum == 0 {
		return
	}
	if d.newest = x; compare {
		d.compared = append(slices.Clone(d.compared[max(0, len(d.compared)-maxDigests+1):]), x)
	}
	d.told = slices.Clone(d.compared)
	if n := len(d.told); n == 0 || d.told[n-1] != x {
		d.told = append(d.told, x)
	}
}

// digestAt returns the digest of a slot in list.
func digestAt(list []Digest, slot uint64) (sum uint64, ok bool) {
	for _, x := range list {
		if x.Slot == slot {
			return x.Sum, true
		}
	}
	return 0, false
}

// finding is the result of comparing the digests of one slot.
type finding uint8

const (
	nothing  finding = iota // too few digests are known
	agrees                  // a majority of the voters has the digest of this node
	differs                 // a majority of the voters agrees on another digest
	disputed                // some voter has another digest, and no majority agrees
)

// compareAt compares own, the digest of node self at a slot, with those of the other voters. If a majority agrees on a
// digest, all is that digest, and agree the majority.
func compareAt(
	self ballot.NodeID, own uint64, voters quorum.Set, others []DigestOf,
) (f finding, all uint64, agree quorum.Set) {
	said := others
	if voters.Has(self) {
		said = append(slices.Clone(others), DigestOf{Node: self, Sum: own})
	}
	for _, x := range said {
		var with quorum.Set
		for _, y := range said {
			if y.Sum == x.Sum {
				with.Add(y.Node)
			}
		}
		if !quorum.Reached(voters, with) {
			continue
		}
		if x.Sum == own {
			return agrees, own, with
		}
		return differs, x.Sum, with
	}
	if slices.ContainsFunc(others, func(o DigestOf) bool { return o.Sum != own }) {
		return disputed, 0, quorum.Set{}
	}
	return nothing, 0, quorum.Set{}
}

// compare compares all slots with known digests, the newest first. The newest slot with a decision counts: an older
// difference may have been overwritten since. It returns the error that ends the node, or nil.
//
// A slot at which a majority has agreed with this node is decided for this run. If a majority reports another digest of
// it later, some voters have changed their report. A node whose state was changed on the disk changes its report after
// a restart. A node that has copied that state reports the wrong digest from the beginning. The two may be a majority,
// and are wrong, so the slot is disputed.
func (d *digests) compare(self ballot.NodeID, voters quorum.Set, peers []peerView) *Differs {
	found, agreed := Dispute{}, uint64(0)
	for i := len(d.told) - 1; i >= 0; i-- {
		x := d.told[i]
		others := reported(x.Slot, voters, peers)
		f, all, agree := compareAt(self, x.Sum, voters, others)
		if f == differs && x.Slot <= d.agreed {
			f = disputed
		}
		switch {
		case f == differs:
			return &Differs{Slot: x.Slot, Own: x.Sum, All: all, Agree: agree.IDs()}
		case f == disputed && found.Slot == 0:
			found = Dispute{Slot: x.Slot, Own: x.Sum,
				Other: slices.DeleteFunc(others, func(o DigestOf) bool { return o.Sum == x.Sum })}
		}
		if f == agrees {
			agreed = x.Slot
			break
		}
	}
	if found.Slot != 0 {
		d.dispute = found
		return nil
	}
	d.agreed = max(d.agreed, agreed)
	d.settle(agreed, voters, peers)
	return nil
}

// settle ends the dispute if a majority agrees with this node at slot agreed, and agreed is the disputed slot or later.
// It also ends the dispute if every node in dispute agrees with this node at a later slot or is no longer a voter. A
// node that has fallen silent stays in dispute.
func (d *digests) settle(agreed uint64, voters quorum.Set, peers []peerView) {
	switch {
	case d.dispute.Slot == 0:
		return
	case agreed >= d.dispute.Slot:
		d.dispute = Dispute{}
		return
	}
	left := slices.DeleteFunc(slices.Clone(d.dispute.Other), func(o DigestOf) bool {
		return !voters.Has(o.Node) || d.agreesSince(o.Node, peers)
	})
	if d.dispute.Other = left; len(left) == 0 {
		d.dispute = Dispute{}
	}
}

// confirmed reports whether a majority of the voters is known to have the digest of a node, at a slot from which it
// made a checkpoint itself: at from or later.
func (d *digests) confirmed(node ballot.NodeID, from uint64, self ballot.NodeID, voters quorum.Set,
	peers []peerView) bool {
	i := slices.IndexFunc(peers, func(p peerView) bool { return p.node == node })
	if i < 0 {
		return false
	}
	for _, x := range peers[i].digests {
		if x.Slot < from {
			continue
		}
		var with quorum.Set
		if sum, ok := digestAt(d.told, x.Slot); ok && sum == x.Sum && voters.Has(self) {
			with.Add(self)
		}
		for _, o := range reported(x.Slot, voters, peers) {
			if o.Sum == x.Sum {
				with.Add(o.Node)
			}
		}
		if quorum.Reached(voters, with) {
			return true
		}
	}
	return false
}

// disputed returns the voters whose states differ while no majority agrees, by rising id; nil if there is no dispute.
func (d *digests) disputed(self ballot.NodeID, voters quorum.Set) (nodes []ballot.NodeID) {
	if d.dispute.Slot == 0 {
		return nil
	}
	if voters.Has(self) {
		nodes = append(nodes, self)
	}
	for _, o := range d.dispute.Other {
		nodes = append(nodes, o.Node)
	}
	slices.Sort(nodes)
	return nodes
}

// agreesSince reports whether a node has the digest of this one at a slot after the disputed one.
func (d *digests) agreesSince(node ballot.NodeID, peers []peerView) bool {
	for i := range peers {
		if peers[i].node != node {
			continue
		}
		for _, x := range d.told {
			if sum, ok := digestAt(peers[i].digests, x.Slot); ok && x.Slot > d.dispute.Slot && sum == x.Sum {
				return true
			}
		}
	}
	return false
}

// reported returns the digests that the other voters have reported for slot, sorted by node.
func reported(slot uint64, voters quorum.Set, peers []peerView) (said []DigestOf) {
	for i := range peers {
		if !voters.Has(peers[i].node) {
			continue
		}
		if sum, ok := digestAt(peers[i].digests, slot); ok {
			said = append(said, DigestOf{Node: peers[i].node, Sum: sum})
		}
	}
	slices.SortFunc(said, func(a, b DigestOf) int { return cmp.Compare(a.Node, b.Node) })
	return said
}
