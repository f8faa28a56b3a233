package replica

import (
	"slices"

	"tenure/server/replica/snapshots"
)

// SnapshotView returns the input of a snapshots.Receiver. All members that a node far behind knows may be gone: then
// strangers help it (outsiders.go).
func (s *Status) SnapshotView() snapshots.View {
	v := snapshots.View{Behind: s.Behind, Applied: s.Applied, Gone: s.Gone}
	add := func(peers []PeerStatus, stranger bool) {
		for _, p := range peers {
			v.Peers = append(v.Peers, snapshots.Peer{Node: p.Node, Connected: p.Connected, Applied: p.Applied,
				Master: p.Node == s.Master, Stranger: stranger})
		}
	}
	add(s.Peers, false)
	if s.Believes {
		add(s.Strangers, true)
	}
	return v
}

// LeavesSnapshots reports whether a node whose disk has that space leaves the sending of snapshots to other members. It
// does if its disk is short of space, since state.db grows while a snapshot is open, and if a connected member with
// space has the entries that this node has truncated. Without such a member nobody else could help. A quota is no
// reason: a node does not keep what it sends.
func (s *Status) LeavesSnapshots(space Space) bool {
	if space != SpaceTight && space != SpaceNone {
		return false
	}
	return slices.ContainsFunc(s.Peers, func(p PeerStatus) bool {
		return p.Connected && p.Applied >= s.Truncated && !slices.Contains(s.Full, p.Node)
	})
}
