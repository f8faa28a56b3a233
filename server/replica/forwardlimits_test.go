package replica

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// heardMaster has node 1 hear that from is the master.
func (b *bench) heardMaster(now time.Duration, from ballot.NodeID, epoch uint64) {
	b.t.Helper()
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: from, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: epoch}}})
	b.run(now, Published{})
}

// forwarded returns the writes forwarded since the last call, in the groups that they travel in.
func (b *bench) forwarded(now time.Duration) (groups [][]Write) {
	b.t.Helper()
	b.run(now, Published{})
	for _, m := range b.messages {
		if m.Kind == KindForward {
			groups = append(groups, m.Writes)
		}
	}
	b.messages = nil
	return groups
}

// answers has node from answer forwarded writes.
func (b *bench) answers(now time.Duration, from ballot.NodeID, a ...ForwardedAnswer) {
	b.t.Helper()
	b.give(Event{Peer: &Message{Kind: KindForwarded, From: from, To: 1, Answers: a}})
	b.run(now, b.pub)
}

// forwardTo2 gives node 1 of a new bench writes 1 to n, which wait until 9 s, and has them forwarded to node 2. The
// even ones carry idempotency keys. It returns the ids that node 2 knows them by.
func forwardTo2(t *testing.T, n int) (*bench, []uint64) {
	b := newBench(t, 1, 2, 3)
	b.heardMaster(0, 2, 7)
	var ids []uint64
	for i := range n {
		b.give(Event{Write: &Write{ID: uint64(i + 1), Command: []byte{'w', byte(i + 1)}, Keyed: i%2 == 1,
			Until: 9 * sec}})
	}
	for _, g := range b.forwarded(0) {
		for _, w := range g {
			ids = append(ids, w.ID)
		}
	}
	if len(ids) != n {
		t.Fatalf("%d of %d writes were forwarded", len(ids), n)
	}
	return b, ids
}

// wantOpen fails unless so many forwarded writes are open and no more are remembered than from the first to the last
// of them.
func (b *bench) wantOpen(when string, live, kept int) {
	b.t.Helper()
	a := &b.log.forwards
	if a.open != live || len(a.items) != kept || (live == 0) != b.log.Idle() || (live == 0) != (a.bytes == 0) {
		b.t.Errorf("%s: %d writes of %d bytes are open, %d are kept, want %d and %d", when, a.open, a.bytes, len(a.items),
			live, kept)
	}
}

// A message holds what fits into MaxBatchBytes, to the byte; on its way is at most what fits into MaxQueuedBytes.
func TestForwardedWritesFillTheirBounds(t *testing.T) {
	const batch, all = 4096, 1 << 20 // testConfig's
	for _, c := range []struct {
		sizes, groups []int
	}{
		{[]int{batch / 2, batch / 2}, []int{2}},
		{[]int{batch / 2, batch/2 + 1}, []int{1, 1}},
		{[]int{1, batch}, []int{1, 1}},
		{[]int{batch, batch / 2, batch / 2}, []int{1, 2}},
		{[]int{batch, batch / 2, batch/2 + 1}, []int{1, 1, 1}},
		{[]int{all / 2, all / 2, 1, 1}, []int{1, 1}},
		{[]int{all / 2, all/2 - 1, 1, 1}, []int{1, 1, 1}},
	} {
		t.Run(fmt.Sprint(c.sizes), func(t *testing.T) {
			b := newBench(t, 1, 2, 3)
			b.heardMaster(0, 2, 7)
			var got []int
			for i, n := range c.sizes {
				b.give(Event{Write: &Write{ID: uint64(i + 1), Command: make([]byte, n), Until: 9 * sec}})
				if n < all/4 && i+1 < len(c.sizes) {
					continue // the next one goes with it
				}
				for _, g := range b.forwarded(0) {
					got = append(got, len(g))
				}
			}
			if !slices.Equal(got, c.groups) || len(b.replies) != 0 {
				t.Errorf("forwarded in groups of %v, want %v; answered: %+v", got, c.groups, b.replies)
			}
		})
	}
}

// Bodies share a message up to its bound; one that is larger goes alone or with answers that have none.
func TestAnswersOfAllSizes(t *testing.T) {
	for _, c := range []struct{ bodies, groups []int }{
		{[]int{0, 5000}, []int{2}},
		{[]int{1, 5000}, []int{1, 1}},
		{[]int{1, 4095}, []int{2}},
		{[]int{1, 4096}, []int{1, 1}},
	} {
		b := newBench(t, 1, 2, 3)
		for i, n := range c.bodies {
			b.log.out.answerNode(2, ForwardedAnswer{ID: uint64(i + 1), Result: kv.Result{Body: string(make([]byte, n))}})
		}
		b.again()
		var got []int
		for _, m := range b.messages {
			got = append(got, len(m.Answers))
		}
		if !slices.Equal(got, c.groups) {
			t.Errorf("bodies of %v bytes travel in groups of %v, want %v", c.bodies, got, c.groups)
		}
	}
}

// What a client is told when the master answers, and whether the write waits for the next master instead.
func TestWhatAnAnswerEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    time.Duration
		stop  bool
		a     ForwardedAnswer
		waits bool
	}{
		{"refused in time", 9*sec - 1, false, ForwardedAnswer{Outcome: Refused, Reason: NoMaster}, true},
		{"refused too late", 9 * sec, false, ForwardedAnswer{Outcome: Refused, Reason: NoMaster}, false},
		{"refused long after", 10 * sec, false, ForwardedAnswer{Outcome: Refused, Reason: Stopping}, false},
		{"refused for want of space", sec, false, ForwardedAnswer{Outcome: Refused, Reason: NoSpace}, false},
		{"refused while this node stops", sec, true, ForwardedAnswer{Outcome: Refused, Reason: NoMaster}, false},
		{"unknown, as mastership ended", sec, false, ForwardedAnswer{Outcome: Unknown, Reason: NoMaster}, false},
		{"unknown, as the master stops", sec, false, ForwardedAnswer{Outcome: Unknown, Reason: Stopping}, false},
		{"done", sec, false, ForwardedAnswer{Outcome: Done}, false},
	} {
		b, ids := forwardTo2(t, 1)
		if c.stop {
			b.log.HandOver(false)
		}
		c.a.ID = ids[0]
		b.answers(c.at, 2, c.a)
		r, answered := b.replies[1]
		if answered == c.waits || answered && (r.Outcome != c.a.Outcome || r.Reason != c.a.Reason) {
			t.Errorf("%s: answered %v: %+v", c.name, answered, r)
		}
		if node := b.log.Position().Master; c.waits && node != 0 || !c.waits && node != 2 {
			t.Errorf("%s: node %d is taken for the master", c.name, node)
		}
		b.wantOpen(c.name, 0, 0)
	}
}

// The refusal of a former master says nothing about the present one, who gets the write at once.
func TestARefusalOfAFormerMaster(t *testing.T) {
	b, ids := forwardTo2(t, 1)
	b.heardMaster(sec, 3, 8)
	b.answers(sec, 2, ForwardedAnswer{ID: ids[0], Outcome: Refused, Reason: NoMaster})
	if node := b.log.Position().Master; node != 3 {
		t.Errorf("node %d is taken for the master, want 3", node)
	}
	if g := b.forwarded(sec); len(g) != 1 || len(g[0]) != 1 {
		t.Errorf("forwarded again: %+v", g)
	}
}

// Each write ends once, by the first of its possible ends, and is then forgotten. Answers to unknown writes, with ids
// below or above known ones, have no effect and hide no other answers.
func TestAForwardedWriteEndsOnce(t *testing.T) {
	b, ids := forwardTo2(t, 2)
	b.answers(sec, 2, ForwardedAnswer{ID: ids[0], Outcome: Done})
	b.heardMaster(sec, 3, 8)
	b.wantOpen("write 2 goes to the next master", 1, 1)
	for _, end := range []string{"answer", "timeout", "lost", "next master"} {
		b, ids := forwardTo2(t, 5)
		last := ids[4]
		b.answers(sec, 2, ForwardedAnswer{ID: ids[0] - 1, Outcome: Done}, ForwardedAnswer{ID: last + 1, Outcome: Done},
			ForwardedAnswer{ID: ids[2], Outcome: Done}, ForwardedAnswer{ID: ids[3], Outcome: Done})
		if len(b.replies) != 2 || b.replies[3].Outcome != Done || b.replies[4].Outcome != Done {
			t.Fatalf("%s: writes 3 and 4 were answered, not %+v", end, b.replies)
		}
		b.wantOpen(end, 3, 5) // 3 and 4 are between others
		delete(b.replies, 3)
		delete(b.replies, 4)
		switch end {
		case "answer":
			for _, id := range slices.Backward(ids) {
				b.answers(sec, 2, ForwardedAnswer{ID: id, Outcome: Unknown, Reason: LinkLost})
			}
			b.wantOpen(end, 0, 0)
		case "timeout":
			b.tick(9*sec-1, b.pub)
			b.wantOpen(end, 3, 5)
			b.tick(9*sec, b.pub)
			b.wantOpen(end, 0, 0)
		case "lost":
			b.give(Event{Down: 3})
			b.again()
			b.wantOpen(end, 3, 5)
			b.give(Event{Down: 2})
			b.again()
			b.wantOpen(end, 0, 0)
		case "next master":
			b.heardMaster(sec, 3, 8)
			b.wantOpen(end, 3, 6) // only write 2 has a key: it goes to node 3
			b.tick(9*sec, b.pub)
			b.wantOpen(end, 0, 0)
		}
		b.again()
		want := []uint64{1, 2, 5}
		if end == "lost" {
			want = []uint64{1, 5} // write 2 waits for the next master
			b.heardMaster(sec, 3, 8)
			if g := b.forwarded(sec); len(g) != 1 || len(g[0]) != 1 || string(g[0][0].Command) != "w\x02" {
				t.Errorf("forwarded again: %+v", g)
			}
		}
		for _, id := range want {
			if b.replies[id].Outcome != Unknown {
				t.Errorf("%s: write %d: %+v", end, id, b.replies[id])
			}
		}
		if len(b.replies) != len(want) {
			t.Errorf("%s: answered: %+v", end, b.replies)
		}
	}
}
