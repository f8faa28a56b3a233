package replica

import (
	"slices"
	"testing"
)

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

// A read that was asked of another master is answered here once this node serves: nobody else has to give up on the
// question first, which the connection of a stopped process may outlive.
func TestAReadAskedOfTheOldMasterIsAnsweredByTheNewOne(t *testing.T) {
	for _, consistent := range []bool{false, true} {
		b := newBench(t, 1, 2)
		b.heardMaster(0, 2, 1)
		b.give(Event{Read: &ReadRequest{ID: 1, Consistent: consistent, Until: 90 * sec}})
		b.run(0, Published{})
		if !slices.ContainsFunc(b.messages, func(m Message) bool { return m.Kind == KindReadPoint && m.To == 2 }) {
			t.Fatal("the master was not asked: the test is wrong")
		}
		p := b.lead(tenure(1, 9*sec))
		if consistent {
			b.confirmed(b.log.reads.round)
		}
		b.run(0, p)
		if b.replies[1].Outcome != Done {
			t.Errorf("consistent %v: %+v", consistent, b.replies)
		}
	}
}

// All reads that wait are bounded, wherever they are.
func TestReadsAreBounded(t *testing.T) {
	r := readers{max: 4, waiting: make([]readWait, 1), pending: make([]readWait, 1), granted: make([]readWait, 1)}
	r.asks[1] = ask{id: 1, reads: make([]readWait, 1)}
	var out outbox
	r.add(0, &ReadRequest{ID: 7}, false, &out)
	if n := len(out.out.Replies); n != 1 || out.out.Replies[0].Reason != Overloaded || r.count() != 4 {
		t.Fatalf("%d reads wait, %+v", r.count(), out.out.Replies)
	}
	r.granted = nil
	r.add(0, &ReadRequest{ID: 8}, false, &out)
	if len(out.out.Replies) != 1 || r.count() != 4 {
		t.Errorf("%d reads wait, %+v", r.count(), out.out.Replies)
	}
}

// A master that is full of reads answers followers as before. An answer without a point would tell them that it is no
// master. A follower that asks again has given up the question before, so its questions are bounded.
func TestAFullMasterStillAnswersFollowers(t *testing.T) {
	r := readers{max: 1, pending: []readWait{{id: 1}}}
	var out outbox
	for id := range uint64(5) {
		r.fromFollower(0, 2, ReadPoint{ID: id + 10}, true, &out)
		r.fromFollower(0, 2, ReadPoint{ID: id + 20, Consistent: true}, true, &out)
		r.fromFollower(0, 3, ReadPoint{ID: id + 30}, true, &out)
	}
	var left []uint64
	for _, w := range r.pending {
		left = append(left, w.id)
	}
	if want := []uint64{1, 14, 24, 34}; !slices.Equal(left, want) || len(out.out.Messages) != 0 {
		t.Errorf("%v wait, want %v; %d messages", left, want, len(out.out.Messages))
	}
	r.expire(sec, Overloaded, &out)
	if len(out.out.Messages) != 0 {
		t.Errorf("too late, %d messages tell followers that this node is no master", len(out.out.Messages))
	}
	r.fromFollower(0, 2, ReadPoint{ID: 40}, false, &out)
	if len(out.out.Messages) != 1 || out.out.Messages[0].Read.Granted {
		t.Errorf("%+v", out.out.Messages)
	}
}

// Each heartbeat of the master names the rest of its lease, whatever it was sent for.
func TestHeartbeatsNameTheRestOfTheLease(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, 9*sec))
	b.messages = nil
	b.give(Event{Up: 2})
	b.run(0, p)
	b.log.SetDisk(Disk{Space: SpaceTight})
	b.run(0, p)
	told := 0
	for _, m := range b.messages {
		if m.Kind != KindHeartbeat {
			continue
		}
		told++
		if h := m.Heartbeat; !h.Master || h.LeaseLeft != 9*sec {
			t.Errorf("%+v", h)
		}
	}
	if told < 2 {
		t.Errorf("%d heartbeats: the test is wrong", told)
	}
}
