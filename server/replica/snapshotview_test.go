package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica/snapshots"
)

// A node short of space leaves snapshots to nodes with space, as long as one of them has the entries that it has
// truncated.
func TestANodeShortOfSpaceHelpsIfNobodyElseCan(t *testing.T) {
	peer := func(applied uint64, connected bool) PeerStatus {
		return PeerStatus{Node: 2, Applied: applied, Connected: connected}
	}
	for name, c := range map[string]struct {
		space Space
		peers []PeerStatus
		full  []ballot.NodeID
		want  bool
	}{
		"another one has all":     {SpaceTight, []PeerStatus{peer(80, true)}, nil, true},
		"without any space":       {SpaceNone, []PeerStatus{peer(80, true)}, nil, true},
		"the quota is reached":    {SpaceLow, []PeerStatus{peer(80, true)}, nil, false},
		"the others lag":          {SpaceTight, []PeerStatus{peer(79, true)}, nil, false},
		"the other one is away":   {SpaceTight, []PeerStatus{peer(99, false)}, nil, false},
		"the other one is full":   {SpaceTight, []PeerStatus{peer(99, true)}, []ballot.NodeID{1, 2}, false},
		"there is no other one":   {SpaceNone, nil, nil, false},
		"it has space for itself": {SpaceEnough, []PeerStatus{peer(99, true)}, nil, false},
	} {
		s := Status{Truncated: 80, Peers: c.peers, Full: c.full}
		if got := s.LeavesSnapshots(c.space); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A node of whose members all are gone gets a snapshot from those that it does not know.
func TestASnapshotComesFromStrangers(t *testing.T) {
	b := newBench(t, 1, 2)
	b.log.ticks = believeTicks
	b.give(Event{Up: 3})
	b.run(sec, Published{})
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 3, Heartbeat: Heartbeat{Applied: 50, Membership: 4}}})
	b.run(sec, Published{})
	s := b.log.Status(sec)
	v := s.SnapshotView()
	v.Behind = true
	if got := askedFirst(v); got != 3 {
		t.Fatalf("peers %+v: asks node %d", v.Peers, got)
	}
}

// askedFirst returns the node that a receiver asks for a snapshot, 0 for none.
func askedFirst(v snapshots.View) ballot.NodeID {
	var r snapshots.Receiver
	r.Tick(sec, v)
	if step := r.Tick(sec+time.Minute, v); step.Send != nil {
		return step.Send.To
	}
	return 0
}
