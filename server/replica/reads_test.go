package replica

import "testing"

// A heartbeat of a new master recalls what was asked of the one before. Without a previous master that is node 0. In a
// waiting read node 0 stands for this node's own clients: they must not lose their answer.
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

// A node that does not catch up says that, and not that too much waits: another node can answer.
func TestAReadThatWaitsForThisNodeSaysSo(t *testing.T) {
	r := readers{granted: []readWait{{id: 1, slot: 9, until: 5}}, waiting: []readWait{{id: 2, until: 5}}}
	var out outbox
	r.finish(8, &out)
	r.expire(5, Overloaded, &out)
	why := map[uint64]Reason{}
	for _, a := range out.out.Replies {
		why[a.ID] = a.Reason
	}
	if why[1] != NotCaughtUp || why[2] != Overloaded || len(why) != 2 {
		t.Errorf("%v", why)
	}
}
