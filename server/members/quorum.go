package members

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// alive returns those of the nodes that are alive.
func (f *Facts) alive(nodes quorum.Set) (s quorum.Set) {
	for _, id := range nodes.IDs() {
		if f.node(id).Alive {
			s.Add(id)
		}
	}
	return s
}

// without returns the voters without one.
func without(voters quorum.Set, node ballot.NodeID) (left quorum.Set) {
	for _, id := range voters.IDs() {
		if id != node {
			left.Add(id)
		}
	}
	return left
}

// leavesMajority reports whether a majority of the voters other than node is alive.
func leavesMajority(voters quorum.Set, node ballot.NodeID, f *Facts) bool {
	left := without(voters, node)
	return quorum.Reached(left, f.alive(left))
}

// mayRemove reports whether the liveness of the remaining voters allows the removal of a voter. A majority of them is
// alive, or the operation names the exact number alive, so the asker knows the consequence.
func mayRemove(voters quorum.Set, o *Operation, f *Facts) bool {
	return leavesMajority(voters, o.Node, f) ||
		o.Kind == Remove && o.Alive > 0 && o.Alive == f.alive(without(voters, o.Node)).Len()
}
