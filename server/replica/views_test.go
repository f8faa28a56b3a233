package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
)

// The node that claims to be master under the highest epoch counts as master, until it denies that or refuses a read
// because it is not.
func TestWhoIsTakenForTheMaster(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	says := func(from ballot.NodeID, master bool, epoch uint64, want ballot.NodeID) {
		t.Helper()
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: from, To: 1,
			Heartbeat: Heartbeat{Master: master, Epoch: epoch}}})
		b.run(sec, Published{})
		if got := b.log.Position().Master; got != want {
			t.Errorf("after heartbeats of %d (master %v, epoch %d): %d, want %d", from, master, epoch, got, want)
		}
	}
	says(2, false, 0, 0)
	says(2, true, 7, 2)
	says(3, false, 0, 2)
	says(3, false, 8, 2)
	says(3, true, 6, 2)
	says(3, true, 8, 3)
	says(2, false, 0, 3)
	says(3, false, 0, 0)
	says(2, true, 7, 0) // it does not know yet that it was replaced
	says(2, true, 9, 2)
	refused := func(from ballot.NodeID, want ballot.NodeID) {
		t.Helper()
		b.messages = nil
		b.give(Event{Read: &ReadRequest{ID: uint64(from), Until: 90 * sec}})
		b.run(sec, Published{})
		for _, m := range b.messages {
			if m.Kind == KindReadPoint {
				b.heardMaster(sec, from, 10)
				b.give(Event{Peer: &Message{Kind: KindReadPointR, From: 2, To: 1, Read: ReadPoint{ID: m.Read.ID}}})
				b.again()
			}
		}
		if got := b.log.Position().Master; got != want {
			t.Errorf("after a refusal by 2: %d, want %d", got, want)
		}
	}
	refused(2, 0)
	b.heardMaster(sec, 2, 11)
	b.heardMaster(sec, 3, 12)
	if got := b.log.Position().Master; got != 3 {
		t.Errorf("%d, want 3", got)
	}
}

// Status names the master, its epoch, the time since its last message, and the rest of its lease.
func TestWhatIsToldOfTheMaster(t *testing.T) {
	b := newBench(t, 1, 2)
	check := func(now time.Duration, node ballot.NodeID, epoch uint64, age, left time.Duration) {
		t.Helper()
		if s := b.log.Status(now); s.Master != node || s.Epoch != epoch || s.MasterAge != age || s.LeaseLeft != left {
			t.Errorf("at %v: node %d, epoch %d, %v ago, %v left, want %d, %d, %v, %v", now, s.Master, s.Epoch, s.MasterAge,
				s.LeaseLeft, node, epoch, age, left)
		}
	}
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1,
		Heartbeat: Heartbeat{Master: true, Epoch: 7, LeaseLeft: 2 * sec}}})
	b.run(sec, Published{})
	check(sec, 2, 7, 0, 2*sec)
	check(2*sec, 2, 7, sec, sec)
	check(9*sec, 2, 7, 8*sec, 0)
	b = newBench(t, 1, 2)
	p := b.lead(tenure(1, 9*sec))
	check(5*sec, 1, p.Epoch, 0, 0)
}

// A batch takes what fits into MaxBatchBytes.
func TestBatchesAreBounded(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, 90*sec))
	cmd := kv.Command{Op: kv.OpSet, Key: "k", Value: make([]byte, 1500)}
	for i := range 8 {
		b.give(Event{Write: &Write{ID: uint64(i + 1), Command: kv.EncodeCommand(&cmd), Until: 90 * sec}})
	}
	most, writes := testConfig(ballot.Incarnation{}, quorum.Set{}).MaxBatchBytes, 0
	for range 10 {
		b.run(0, p)
		for _, x := range b.out.Proposed {
			if writes += x.Writes; x.Bytes > most || x.Writes != 2 {
				t.Errorf("a batch of %d writes and %d bytes, at most %d", x.Writes, x.Bytes, most)
			}
		}
		b.sync()
	}
	if writes != 8 || len(b.replies) != 8 {
		t.Errorf("%d writes proposed, %d answered", writes, len(b.replies))
	}
}

// A read that waits when mastership ends waits for the next master. A read with a read point is refused if its client's
// time is over before that point is applied here.
func TestReadsOutliveTheMaster(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, 9*sec))
	b.give(Event{Read: &ReadRequest{ID: 1, Consistent: true, Until: 9 * sec}})
	b.run(0, p)
	b.run(0, p)
	if len(b.replies) != 0 {
		t.Fatalf("answered without a round: %+v", b.replies)
	}
	b.log.StepDown(0)
	b.messages = nil
	b.heardMaster(0, 2, 1<<20)
	var ask []ReadPoint
	for _, m := range b.messages {
		if m.Kind == KindReadPoint && m.To == 2 {
			ask = append(ask, m.Read)
		}
	}
	if len(ask) != 1 || !ask[0].Consistent {
		t.Fatalf("the next master is asked %+v", ask)
	}
	b.give(Event{Peer: &Message{Kind: KindReadPointR, From: 2, To: 1,
		Read: ReadPoint{ID: ask[0].ID, Granted: true, Slot: 1 << 30}}})
	b.run(0, Published{})
	b.tick(9*sec-1, b.pub)
	if b.again(); len(b.replies) != 0 {
		t.Fatalf("answered before it is applied: %+v", b.replies)
	}
	b.tick(9*sec, b.pub)
	if b.again(); b.replies[1].Outcome != Refused {
		t.Errorf("at the end of its time: %+v", b.replies)
	}
}

// A disk short of space takes barrier entries and no-ops, which are small. A batch is taken only if it frees space.
func TestWhatAValueNeeds(t *testing.T) {
	free := kv.EncodeCommand(&kv.Command{Op: kv.OpDelete, Key: "k"})
	write := set("k", "v")
	for name, x := range map[string]struct {
		value []byte
		want  multipaxos.Need
	}{
		"no-op":   {nil, multipaxos.NeedNothing},
		"opening": {openValue(ballot.Ballot{}), multipaxos.NeedNothing},
		"delete":  {kv.AppendBatch([]byte{tagBatch}, free), multipaxos.NeedReserve},
		"set":     {kv.AppendBatch([]byte{tagBatch}, kv.EncodeCommand(&write)), multipaxos.NeedSpace},
	} {
		if got := NeedOf(x.value); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}
