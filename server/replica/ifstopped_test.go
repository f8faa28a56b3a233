package replica

import (
	"reflect"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// A node is missed as long as no majority of the voters, without it, is heard, has caught up and votes for a master.
func TestIfStopped(t *testing.T) {
	const now = 10 * time.Second
	heard := func(at, silent time.Duration) peerView {
		return peerView{listed: true, connected: true, told: true, heard: at, silent: silent, applied: 100, toldFrom: time.Second}
	}
	well, gone, behind := heard(now, 0), peerView{listed: true}, heard(now, 0)
	behind.applied = 1
	fresh := well
	fresh.toldFrom = now
	const started, left = now - 100*time.Millisecond, 900 * time.Millisecond
	for name, c := range map[string]struct {
		peers   []peerView // voters, from node 2 on
		applied uint64
		want    IfStopped
	}{
		"all are well":                {[]peerView{well, well}, 100, IfStopped{Enough: true}},
		"one is gone":                 {[]peerView{well, gone}, 100, IfStopped{}},
		"one was heard long ago":      {[]peerView{well, heard(now-AliveFor, 0)}, 100, IfStopped{}},
		"one has just started":        {[]peerView{well, heard(started, time.Second)}, 100, IfStopped{true, nil, []ballot.NodeID{3}, left}},
		"its silence is over":         {[]peerView{well, heard(started, 99*time.Millisecond)}, 100, IfStopped{Enough: true}},
		"one is heard since a moment": {[]peerView{well, fresh}, 100, IfStopped{true, nil, []ballot.NodeID{3}, freshFor}},
		"one lacks much":              {[]peerView{well, behind}, 1 << 13, IfStopped{true, []ballot.NodeID{2, 3}, nil, unknownLeft}},
		"three of four others do":     {[]peerView{well, heard(now, left), well, well}, 100, IfStopped{true, nil, []ballot.NodeID{3}, 0}},
		"the third of four in a time": {[]peerView{heard(now, time.Hour), heard(now, left), well, well}, 100, IfStopped{true, nil, []ballot.NodeID{2, 3}, left}},
		"the only voter":              {nil, 100, IfStopped{}},
	} {
		ids := []ballot.NodeID{1}
		for i := range c.peers {
			ids = append(ids, ballot.NodeID(i+2))
		}
		v := newMembers(1, ident.Membership{Number: 1, Members: voters(ids...)})
		for i, p := range c.peers {
			p.node = ballot.NodeID(i + 2)
			*v.peer(p.node) = p
		}
		if got := v.ifStopped(now, c.applied); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	observer := newMembers(9, ident.Membership{})
	if a := observer.ifStopped(now, 1); !a.Harmless() {
		t.Errorf("without a node that does not vote: %+v", a)
	}
}
