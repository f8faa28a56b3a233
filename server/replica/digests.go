package replica

import (
	"cmp"
	"fmt"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Digest is a digest of the whole state as it is after a slot, of format kv.DigestFormat.
type Digest struct {
	Slot uint64
	Sum  uint64
}

// maxDigests is how many of the digests that a node has taken for comparison it remembers and reports, besides that of
// its newest checkpoint: enough that those who are some seconds apart find a slot that they have in common.
const maxDigests = 4

// MaxDigests bounds the digests in a heartbeat.
const MaxDigests = maxDigests + 1

// DigestOf is what a node says of its state at some slot.
type DigestOf struct {
	Node ballot.NodeID
	Sum  uint64
}

// Differs is the error with which the log part ends: the state of this node differs from that of a majority of the
// voters, who agree among themselves. The node must not be started on its data directory again.
type Differs struct {
	Slot     uint64
	Own, All uint64          // digests at Slot: of this node, and of those below
	Agree    []ballot.NodeID // the voters that agree, by number
}

// Error returns one line that says what was found and what to do.
func (d *Differs) Error() string {
	return fmt.Sprintf("the state of this node differs from that of the others: at slot %d its digest is %016x, and "+
		"nodes %v, a majority of the voters, have %016x; the node stops, and must not be started on this directory again: "+
		"rebuild it with kvnode rejoin, or replace it with kvctl member replace", d.Slot, d.Own, d.Agree, d.All)
}

// Dispute is a slot at which voters differ while no majority of them is known to agree. Nobody can tell yet who is
// right.
type Dispute struct {
	Slot  uint64 // 0: there is none
	Own   uint64
	Other []DigestOf // voters that differ from this node, by number
}

// String returns one line for people, for log, status and answers.
func (d Dispute) String() string {
	var b []byte
	for _, o := range d.Other {
		b = fmt.Appendf(b, ", that of node %d is %016x", o.Node, o.Sum)
	}
	return fmt.Sprintf("replicas differ, and no majority tells which of them is right: at slot %d the digest of this "+
		"node's state is %016x%s; nothing is truncated and nothing is backed up until a third node has told, or one of "+
		"them is replaced", d.Slot, d.Own, b)
}

// digests compares the state of this node with that of the others, at slots for which digests of both are known. What
// counts is what the voters of the newest membership say: a majority of them that agrees is right, and who differs from
// it stops, voter or not. A digest of another slot or format says nothing.
type digests struct {
	compared []Digest // taken for comparison; slots rise
	newest   Digest   // of the newest checkpoint, if it is known
	told     []Digest // what heartbeats carry; replaced, never changed
	agreed   uint64   // the newest slot at which a majority was found to agree with this node
	dispute  Dispute
}

// add takes the digest of a new checkpoint.
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

// at returns the digest of a slot in list.
func at(list []Digest, slot uint64) (sum uint64, ok bool) {
	for _, x := range list {
		if x.Slot == slot {
			return x.Sum, true
		}
	}
	return 0, false
}

// finding is what is known about one slot.
type finding uint8

const (
	nothing  finding = iota // too few have told
	agrees                  // a majority of the voters has what this node has
	differs                 // a majority of the voters agrees on something else
	disputed                // some voter has something else, and there is no majority
)

// judge compares own, what node self has at a slot, with what the other voters have there, by number. all and agree are
// those of the majority, if there is one.
func judge(
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

// compare judges all slots of which something is known, the newest first: the newest that is decided counts, for what
// was different may have been written over since. It returns what the node ends of, or nil.
func (d *digests) compare(self ballot.NodeID, voters quorum.Set, peers []peerView) *Differs {
	found, agreed := Dispute{}, uint64(0)
	for i := len(d.told) - 1; i >= 0; i-- {
		x := d.told[i]
		others := voices(x.Slot, voters, peers)
		f, all, agree := judge(self, x.Sum, voters, others)
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

// settle ends a dispute when a majority is found to agree with this node at its slot or later, agreed, or when each of
// the others has the same as this node at a later slot, or is no voter any more: who is not heard any more has not
// become right by that.
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

// agreesSince reports whether a node has what this one has at a slot behind that of the dispute.
func (d *digests) agreesSince(node ballot.NodeID, peers []peerView) bool {
	for i := range peers {
		if peers[i].node != node {
			continue
		}
		for _, x := range d.told {
			if sum, ok := at(peers[i].digests, x.Slot); ok && x.Slot > d.dispute.Slot && sum == x.Sum {
				return true
			}
		}
	}
	return false
}

// voices returns what the other voters have at slot, by number.
func voices(slot uint64, voters quorum.Set, peers []peerView) (said []DigestOf) {
	for i := range peers {
		if !voters.Has(peers[i].node) {
			continue
		}
		if sum, ok := at(peers[i].digests, slot); ok {
			said = append(said, DigestOf{Node: peers[i].node, Sum: sum})
		}
	}
	slices.SortFunc(said, func(a, b DigestOf) int { return cmp.Compare(a.Node, b.Node) })
	return said
}
