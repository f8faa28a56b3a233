package runner

import (
	"sync/atomic"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// Members is the membership that holds at this node, for everybody who asks. Its methods never wait.
type Members struct {
	self    ballot.NodeID
	hints   map[ballot.NodeID]string // peer addresses of --cluster; never changed
	current atomic.Pointer[listed]
}

// listed is one membership with what is derived from it. It is never changed.
type listed struct {
	ident.Membership
	others []ballot.NodeID
}

// NewMembers returns the Members of node self. hints are addresses of peers that the membership does not give.
func NewMembers(self ballot.NodeID, m ident.Membership, hints map[ballot.NodeID]string) *Members {
	out := &Members{self: self, hints: hints}
	out.set(m)
	return out
}

// set makes m the membership that holds.
func (m *Members) set(next ident.Membership) {
	c := &listed{Membership: next}
	for _, x := range next.All() {
		if x.Node != m.self {
			c.others = append(c.others, x.Node)
		}
	}
	m.current.Store(c)
}

// Load returns the membership. It is shared.
func (m *Members) Load() ident.Membership { return m.current.Load().Membership }

// Others returns the ids of the other members, non-voters among them, by rising id. The slice is shared.
func (m *Members) Others() []ballot.NodeID { return m.current.Load().others }

// Address returns where a member listens for its peers, or "".
func (m *Members) Address(node ballot.NodeID) string {
	if x, _, ok := m.Load().Find(node); ok && x.PeerAddr != "" {
		return x.PeerAddr
	}
	return m.hints[node]
}
