package multipaxos

import (
	"testing"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
)

// In any order of calls, a message comes out only when its Persist is durable, and then at once.
func TestOutboxKeepsTheOrderOfDiskAndNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o outbox
		var begun, id uint64
		waits := map[uint64]uint64{} // message → Persist
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				begun++
			case 1:
				id++
				waits[id] = rapid.Uint64Range(0, begun).Draw(t, "waits for")
				o.after(waits[id], Message{Kind: KindAccepted, Round: id})
			case 2:
				o.release(rapid.Uint64Range(o.durable, begun).Draw(t, "durable"))
			}
			for _, m := range o.ready {
				if waits[m.Round] > o.durable {
					t.Fatalf("message %d of Persist %d left when %d was durable", m.Round, waits[m.Round], o.durable)
				}
				delete(waits, m.Round)
			}
			o.ready = nil
		}
		o.release(begun)
		if len(o.ready) != len(waits) || o.waiting.len() != 0 {
			t.Fatalf("%d messages never left", len(waits)-len(o.ready))
		}
	})
}

func TestOutboxIsBounded(t *testing.T) {
	var o outbox
	for range maxWaiting + 5 {
		o.after(1, Message{Kind: KindAccepted})
	}
	for i := range 5 {
		o.after(1, Message{Kind: KindPromise, To: 2, Round: uint64(i)})
	}
	if o.waiting.len() != maxWaiting {
		t.Fatalf("%d wait", o.waiting.len())
	}
	o = outbox{}
	for i := range 5 {
		for to := range ballot.NodeID(3) {
			o.after(1, Message{Kind: KindPromise, To: to, Round: uint64(i)})
		}
	}
	if o.waiting.len() != 3 || o.waiting.at(0).msg.Round != 4 {
		t.Fatalf("%d pages wait, the first of round %d", o.waiting.len(), o.waiting.at(0).msg.Round)
	}
}

// A slot written twice before the next Take is in the Persist once, with its last entry.
func TestPersistHoldsEachSlotOnce(t *testing.T) {
	s := follower(t)
	for _, m := range []Message{accept(by(2, 1), 0, 1, "a", "b"), accept(by(3, 2), 0, 2, "c")} {
		m.To = 1
		if err := s.Step(m); err != nil {
			t.Fatal(err)
		}
	}
	out := s.Take()
	if len(out.Persists) != 1 {
		t.Fatalf("%d Persists", len(out.Persists))
	}
	p := out.Persists[0]
	if p.Promised != by(3, 2) || len(p.Entries) != 2 || string(p.Entries[1].Value) != "c" ||
		p.Entries[1].Ballot != by(3, 2) {
		t.Fatalf("persist %+v", p)
	}
	if out = s.Take(); len(out.Persists)+len(out.Messages) != 0 {
		t.Fatalf("drained twice: %+v", out)
	}
	mustPanic(t, "a Persist that was never given out", func() { s.Persisted(2) })
}
