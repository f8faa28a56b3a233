package replica

import "testing"

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
