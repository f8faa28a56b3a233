package replica

import "testing"

// A heartbeat of a new master recalls what was asked of the one before. With no master before, that is node 0, which in
// a read that waits here stands for this node's own clients: they must not lose their answer.
func TestRecallOfNobodyKeepsTheOwnClientsReads(t *testing.T) {
	r := readers{pending: []readWait{{id: 1}, {id: 2, from: 2}, {id: 3}}}
	r.recall(0)
	if len(r.pending) != 3 {
		t.Errorf("%d of 3 reads are left", len(r.pending))
	}
	r.recall(2)
	if len(r.pending) != 2 || r.pending[0].id != 1 || r.pending[1].id != 3 {
		t.Errorf("%+v", r.pending)
	}
}
