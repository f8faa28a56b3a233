package replica

import (
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
)

// A master from which nothing comes gets no more writes: what it would take without answering is lost to clients. What
// waits goes on when it speaks again, or to the next master.
func TestWritesWaitWhileTheMasterIsSilent(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	at := sec
	heard := func(from Message) {
		from.Kind = KindVitals
		from.To = 1
		b.log.Receive(at, from)
	}
	tick := func(n int) {
		for range n {
			at += TickEvery
			if err := b.log.Tick(at, Published{}); err != nil {
				t.Fatal(err)
			}
			b.advance(at, Published{})
		}
	}
	forwarded := func() (n int) {
		for _, m := range b.messages {
			if m.Kind == KindForward {
				n += len(m.Writes)
			}
		}
		b.messages = nil
		return n
	}
	master := Message{From: 2, Vitals: Vitals{Master: true, Epoch: 7}}
	heard(master)
	tick(silentTicks - 1)
	b.request(1, 90*sec)
	b.advance(at, Published{})
	if n := forwarded(); n != 1 {
		t.Fatalf("%d writes forwarded, want 1: the master was heard lately", n)
	}
	tick(1)
	b.request(2, 90*sec)
	tick(20)
	if n := forwarded(); n != 0 {
		t.Fatalf("%d writes forwarded to a master that is silent", n)
	}
	if why := b.log.whyWaiting(); why != NoMaster {
		t.Errorf("writes wait because of %v, want %v", why, NoMaster)
	}
	b.log.Receive(at, Message{Kind: KindForwarded, From: 2, To: 1}) // any word of it will do
	b.advance(at, Published{})
	if n := forwarded(); n != 1 {
		t.Fatalf("%d writes forwarded when the master spoke again, want 1", n)
	}
	tick(silentTicks)
	b.request(3, 90*sec)
	tick(1)
	heard(Message{From: 3, Vitals: Vitals{Master: true, Epoch: 8}})
	b.advance(at, Published{})
	if n := forwarded(); n != 1 {
		t.Fatalf("%d writes forwarded to the next master, want 1", n)
	}
}

// "refused (… no master known …): not applied, safe to retry": what the master refuses because it is not, or not for long,
// the master waits here for the next one, with an idempotency key or without.
func TestRefusedWritesWaitForTheNextMaster(t *testing.T) {
	for _, why := range []Reason{NoMaster, Stopping} {
		b := newBench(t, 1, 2, 3)
		hear := func(m Message) {
			m.To = 1
			b.messages = nil
			b.log.Receive(sec, m)
			b.advance(sec, Published{})
		}
		forwarded := func() (out []ForwardedWrite) {
			for _, m := range b.messages {
				if m.Kind == KindForward {
					out = append(out, m.Writes...)
				}
			}
			return out
		}
		hear(Message{Kind: KindVitals, From: 2, Vitals: Vitals{Master: true, Epoch: 7}})
		b.request(1, 9*sec)
		b.advance(sec, Published{})
		sent := forwarded()
		if len(sent) != 1 || b.log.away.bytes == 0 {
			t.Fatalf("%v: %d writes forwarded of %d bytes", why, len(sent), b.log.away.bytes)
		}
		hear(Message{Kind: KindForwarded, From: 2, Answers: []ForwardedAnswer{{ID: sent[0].ID, Outcome: Refused, Reason: why}}})
		if _, answered := b.replies[1]; answered || len(forwarded()) != 0 {
			t.Fatalf("%v: answered or sent to the same node again", why)
		}
		hear(Message{Kind: KindVitals, From: 3, Vitals: Vitals{Master: true, Epoch: 8}})
		again := forwarded()
		if len(again) != 1 || string(again[0].Command) != string(sent[0].Command) {
			t.Fatalf("%v: %+v went to the next master", why, again)
		}
		hear(Message{Kind: KindForwarded, From: 3, Answers: []ForwardedAnswer{{ID: again[0].ID, Outcome: Done}}})
		if b.replies[1].Outcome != Done || b.log.away.bytes != 0 {
			t.Fatalf("%v: %+v, %d bytes are still away", why, b.replies[1], b.log.away.bytes)
		}
	}
}

// A hand-over proposes nothing more and refuses no client of the node: their requests go to the next master. Other nodes'
// come back to them.
func TestRequestsWaitOutAHandOver(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(holding(1, 9*sec))
	b.log.HandOver()
	b.messages, b.sent = nil, nil
	b.request(1, 9*sec)
	b.log.ReadRequest(ReadRequest{ID: 2, Until: 9 * sec})
	b.log.Receive(0, Message{Kind: KindForward, From: 2, To: 1, Writes: []ForwardedWrite{{ID: 5, Command: []byte("w"), WaitFor: sec}}})
	b.advance(0, p)
	b.finish(0, p)
	if len(b.replies) != 0 || !b.log.Idle() {
		t.Fatalf("answered during the hand-over: %+v", b.replies)
	}
	if len(b.messages) != 1 || b.messages[0].Kind != KindForwarded || b.messages[0].Answers[0].Outcome != Refused {
		t.Fatalf("the other node was told %+v", b.messages)
	}
	b.log.StepDown(0)
	b.log.Receive(0, Message{Kind: KindVitals, From: 2, To: 1, Vitals: Vitals{Master: true, Epoch: 1 << 20}})
	b.messages = nil
	b.log.Resume()
	b.advance(0, Published{})
	kinds := map[MessageKind]int{}
	for _, m := range b.messages {
		kinds[m.Kind]++
	}
	if kinds[KindForward] != 1 || kinds[KindReadPoint] != 1 {
		t.Fatalf("sent to the next master: %v", kinds)
	}
}

// A node that restarts may still get the master's answer to a write that its former run forwarded. That answer is not
// the answer to a write of this run: taken as such it would acknowledge a write that was lost on the way.
func TestAnAnswerToTheFormerRunIsNotTaken(t *testing.T) {
	const next = uint64(0x1234_5678_9abc_def0) // far from the nonce of the former run, as random ones are
	forwarded := func(self ballot.Incarnation) (*bench, uint64) {
		b := newBenchOf(t, self, 1, 2, 3)
		b.log.Receive(0, Message{Kind: KindVitals, From: 2, To: 1, Vitals: Vitals{Master: true, Epoch: 7}})
		b.request(1, 9*sec)
		b.advance(0, Published{})
		for _, m := range b.messages {
			if m.Kind == KindForward && len(m.Writes) == 1 {
				return b, m.Writes[0].ID
			}
		}
		t.Fatalf("run %v has forwarded nothing", self)
		return nil, 0
	}
	_, former := forwarded(ballot.Incarnation{Node: 1, Restart: 1, Nonce: 9})
	b, own := forwarded(ballot.Incarnation{Node: 1, Restart: 2, Nonce: next})
	b.log.Receive(sec, Message{Kind: KindForwarded, From: 2, To: 1, Answers: []ForwardedAnswer{{ID: former, Outcome: Done}}})
	b.advance(sec, Published{})
	if r, answered := b.replies[1]; answered {
		t.Fatalf("the answer to write %d of the former run was taken for write %d of this one: %+v", former, own, r)
	}
	b.log.Receive(sec, Message{Kind: KindForwarded, From: 2, To: 1, Answers: []ForwardedAnswer{{ID: own, Outcome: Done}}})
	b.advance(sec, Published{})
	if b.replies[1].Outcome != Done {
		t.Fatalf("the own answer was not taken: %+v", b.replies)
	}
}

// Only the node that a write was forwarded to can answer it.
func TestAnAnswerOfAnotherNodeIsNotTaken(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.log.Receive(0, Message{Kind: KindVitals, From: 2, To: 1, Vitals: Vitals{Master: true, Epoch: 7}})
	b.request(1, 9*sec)
	b.advance(0, Published{})
	id := b.messages[len(b.messages)-1].Writes[0].ID
	b.log.Receive(0, Message{Kind: KindForwarded, From: 3, To: 1, Answers: []ForwardedAnswer{{ID: id, Outcome: Done}}})
	b.advance(0, Published{})
	if r, answered := b.replies[1]; answered {
		t.Fatalf("node 3 answered what was forwarded to node 2: %+v", r)
	}
}

// What is forwarded and not yet answered is bounded by number and by bytes; the rest waits here. A message is bounded by
// bytes, and takes at least one write.
func TestForwardedWritesAreBounded(t *testing.T) {
	for _, c := range []struct {
		name         string
		bytes        int // of a value
		times        int
		most, groups int // writes on their way, messages
	}{
		{"by number", 1, 70, 64, 1},
		{"by bytes", 300 << 10, 5, 4, 4}, // 4 of them are more than MaxQueuedBytes
		{"a message by bytes", 1000, 9, 9, 3},
		{"one over the limit of a message", 5000, 1, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 1, 2, 3)
			b.log.Receive(0, Message{Kind: KindVitals, From: 2, To: 1, Vitals: Vitals{Master: true, Epoch: 7}})
			cmd := kv.Command{Op: kv.OpSet, Key: "k", Value: make([]byte, c.bytes)}
			var sent []ForwardedWrite
			messages := 0
			step := func() {
				b.messages = nil
				b.advance(0, Published{})
				for _, m := range b.messages {
					if m.Kind != KindForward {
						continue
					}
					messages++
					size := 0
					for _, w := range m.Writes {
						size += len(w.Command)
					}
					if len(m.Writes) == 0 || len(m.Writes) > 1 && size > testConfig(ballot.Incarnation{}, quorum.Set{}).MaxBatchBytes {
						t.Errorf("a message of %d writes and %d bytes", len(m.Writes), size)
					}
					sent = append(sent, m.Writes...)
				}
			}
			for i := range c.times {
				b.log.Request(0, Request{ID: uint64(i + 1), Command: kv.EncodeCommand(&cmd), Until: 9 * sec})
				if i >= 2 && i < 63 || c.times < 6 {
					step() // the queue has a bound of its own
				}
			}
			step()
			if len(sent) != c.most || c.groups > 1 && messages < c.groups {
				t.Fatalf("%d writes in %d messages", len(sent), messages)
			}
			if len(b.replies) != 0 {
				t.Fatalf("answered: %+v", b.replies)
			}
			// An answer makes room for the next.
			b.log.Receive(0, Message{Kind: KindForwarded, From: 2, To: 1, Answers: []ForwardedAnswer{{ID: sent[0].ID, Outcome: Done}}})
			step()
			if want := min(c.times, c.most+1); len(sent) != want {
				t.Errorf("%d writes after an answer, want %d", len(sent), want)
			}
		})
	}
}
