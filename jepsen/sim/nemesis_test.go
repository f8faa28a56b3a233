package sim

import (
	"slices"
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
)

// TestLostDisksStayAMinority: which disks of a cluster may be lost beside what is under way. Nodes 1 to 3 vote, 4 and 5
// do not.
func TestLostDisksStayAMinority(t *testing.T) {
	add := members.Operation{Kind: members.Add}
	spare := members.Operation{Kind: members.Add, Spare: true}
	remove := func(id ballot.NodeID) members.Operation { return members.Operation{Kind: members.Remove, Node: id} }
	replace := func(id ballot.NodeID) members.Operation { return members.Operation{Kind: members.Replace, Node: id} }
	type nodes []ballot.NodeID
	type asks []members.Operation
	for _, c := range []struct {
		name          string
		spares        nodes
		asks          asks
		lost, hidden  nodes // hidden ones are lost
		shrinks, adds bool
		want          bool
	}{
		{name: "a voter", hidden: nodes{2}, want: true},
		{name: "two voters", lost: nodes{1}, hidden: nodes{2}},
		{name: "a voter, and a spare takes another one's place", spares: nodes{4}, hidden: nodes{2}, shrinks: true},
		{name: "a spare takes its place, and the next one another", spares: nodes{4, 5}, hidden: nodes{4}, shrinks: true},
		{name: "the same, and the next one is asked for", spares: nodes{4}, asks: asks{spare}, hidden: nodes{4},
			shrinks: true},
		{name: "the same, and the next one may come", spares: nodes{4}, hidden: nodes{4}, shrinks: true, adds: true},
		{name: "the only spare", spares: nodes{4}, hidden: nodes{4}, shrinks: true, want: true},
		{name: "one of two spares, and it is known", spares: nodes{4, 5}, lost: nodes{4}, shrinks: true, want: true},
		{name: "two spares, one after the other", spares: nodes{4, 5}, hidden: nodes{4, 5}, shrinks: true},
		{name: "a non-voter that stays one", hidden: nodes{2, 4}, want: true},
		{name: "a node that is added", asks: asks{add}, hidden: nodes{4}, want: true},
		{name: "a node that is added, and a voter", asks: asks{add}, lost: nodes{2}, hidden: nodes{4}},
		{name: "a voter, and another one is removed", asks: asks{remove(1)}, hidden: nodes{2}},
		{name: "a voter that is removed", asks: asks{remove(2)}, hidden: nodes{2}, want: true},
		{name: "a voter, and another one is replaced", asks: asks{replace(1)}, hidden: nodes{2}},
		{name: "a voter that is replaced", asks: asks{replace(2)}, lost: nodes{2}, want: true},
		{name: "a node that takes the place of a voter", asks: asks{replace(1)}, hidden: nodes{4}, want: true},
		{name: "the same, and another voter is removed", asks: asks{replace(1), remove(2)}, hidden: nodes{4}},
	} {
		h := &memberHistory{}
		for i := range 5 {
			h.machines = append(h.machines, &machine{i: i, id: ballot.NodeID(i + 1)})
		}
		m := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1}, {Node: 2}, {Node: 3}},
			NonVoters: []ident.Member{{Node: 4}, {Node: 5}}}
		h.list, h.newRecord = []chosenMembers{{Membership: m}}, members.First(m)
		for _, id := range c.spares {
			h.newRecord.Spares = append(h.newRecord.Spares, members.Spare{Node: id})
		}
		x := &nemesis{members: h, operator: &operator{}}
		for _, op := range c.asks {
			x.operator.asks = append(x.operator.asks, &change{op: op})
		}
		set := func(ids nodes) (s machineSet) {
			for _, id := range ids {
				s |= 1 << h.machine(id).i
			}
			return s
		}
		lost, hidden := set(slices.Concat(c.lost, c.hidden)), set(c.hidden)
		if got := x.affords(lost, hidden, c.shrinks, c.adds); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
