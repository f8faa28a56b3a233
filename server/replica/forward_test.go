package replica

import (
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
)

// A silent master gets no more writes: clients would never learn the outcome of a write that it took and did not
// answer. Waiting writes go on when the master speaks again, or go to the next master.
func TestWritesWaitWhileTheMasterIsSilent(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	at := sec
	heard := func(from Message) {
		from.Kind = KindHeartbeat
		from.To = 1
		b.give(Event{Peer: &from})
	}
	tick := func(n int) {
		for range n {
			at += TickEvery
			b.tick(at, Published{})
			b.run(at, Published{})
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
	master := Message{From: 2, Heartbeat: Heartbeat{Master: true, Epoch: 7}}
	heard(master)
	tick(hangTicks - 1)
	b.request(1, 90*sec)
	b.run(at, Published{})
	if n := forwarded(); n != 1 {
		t.Fatalf("%d writes forwarded, want 1: the master was heard lately", n)
	}
	tick(1)
	b.request(2, 90*sec)
	tick(20)
	if n := forwarded(); n != 0 {
		t.Fatalf("%d writes forwarded to a master that is silent", n)
	}
	if why := b.log.master.whyWaiting(b.log.epoch.ready, b.log.ticks); why != NoMaster {
		t.Errorf("writes wait because of %v, want %v", why, NoMaster)
	}
	b.give(Event{Peer: &Message{Kind: KindForwarded, From: 2, To: 1}}) // any message of it will do
	b.run(at, Published{})
	if n := forwarded(); n != 1 {
		t.Fatalf("%d writes forwarded when the master spoke again, want 1", n)
	}
	tick(hangTicks)
	b.request(3, 90*sec)
	tick(1)
	heard(Message{From: 3, Heartbeat: Heartbeat{Master: true, Epoch: 8}})
	b.run(at, Published{})
	if n := forwarded(); n != 1 {
		t.Fatalf("%d writes forwarded to the next master, want 1", n)
	}
}

// "refused (… no master known …): not applied, safe to retry": what the master refuses because it is not, or not
// for long, the master waits here for the next one, with an idempotency key or without.
func TestRefusedWritesWaitForTheNextMaster(t *testing.T) {
	for _, why := range []Reason{NoMaster, Stopping} {
		b := newBench(t, 1, 2, 3)
		hear := func(m Message) {
			m.To = 1
			b.messages = nil
			b.give(Event{Peer: &m})
			b.run(sec, Published{})
		}
		forwarded := func() (out []Write) {
			for _, m := range b.messages {
				if m.Kind == KindForward {
					out = append(out, m.Writes...)
				}
			}
			return out
		}
		hear(Message{Kind: KindHeartbeat, From: 2, Heartbeat: Heartbeat{Master: true, Epoch: 7}})
		b.request(1, 9*sec)
		b.run(sec, Published{})
		sent := forwarded()
		if len(sent) != 1 || b.log.forwards.bytes == 0 {
			t.Fatalf("%v: %d writes forwarded of %d bytes", why, len(sent), b.log.forwards.bytes)
		}
		hear(Message{Kind: KindForwarded, From: 2, Answers: []ForwardedAnswer{{ID: sent[0].ID, Outcome: Refused,
			Reason: why}}})
		if _, answered := b.replies[1]; answered || len(forwarded()) != 0 {
			t.Fatalf("%v: answered or sent to the same node again", why)
		}
		hear(Message{Kind: KindHeartbeat, From: 3, Heartbeat: Heartbeat{Master: true, Epoch: 8}})
		again := forwarded()
		if len(again) != 1 || string(again[0].Command) != string(sent[0].Command) {
			t.Fatalf("%v: %+v went to the next master", why, again)
		}
		hear(Message{Kind: KindForwarded, From: 3, Answers: []ForwardedAnswer{{ID: again[0].ID, Outcome: Done}}})
		if b.replies[1].Outcome != Done || b.log.forwards.bytes != 0 {
			t.Fatalf("%v: %+v, %d bytes are still open", why, b.replies[1], b.log.forwards.bytes)
		}
	}
}

// A hand-over proposes nothing more and refuses no client of the node: their requests go to the next master. Other
// nodes' come back to them.
func TestRequestsWaitOutAHandOver(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, 9*sec))
	b.log.HandOver(true)
	b.messages, b.sent = nil, nil
	b.request(1, 9*sec)
	b.give(Event{Read: &ReadRequest{ID: 2, Until: 9 * sec}})
	b.give(Event{Peer: &Message{Kind: KindForward, From: 2, To: 1,
		Writes: []Write{{ID: 5, Command: []byte("w"), Wait: sec}}}})
	b.run(0, p)
	b.run(0, p)
	if len(b.replies) != 0 || !b.log.Idle() {
		t.Fatalf("answered during the hand-over: %+v", b.replies)
	}
	if len(b.messages) != 1 || b.messages[0].Kind != KindForwarded || b.messages[0].Answers[0].Outcome != Refused {
		t.Fatalf("the other node was told %+v", b.messages)
	}
	b.log.StepDown(0)
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: 1 << 20}}})
	b.messages = nil
	b.log.Resume()
	b.run(0, Published{})
	kinds := map[MessageKind]int{}
	for _, m := range b.messages {
		kinds[m.Kind]++
	}
	if kinds[KindForward] != 1 || kinds[KindReadPoint] != 1 {
		t.Fatalf("sent to the next master: %v", kinds)
	}
}

// A node that restarts may still get the master's answer to a write that its former run forwarded. The answer must not
// count for a write of this run: it would acknowledge a write that was lost on the way.
func TestAnAnswerToTheFormerRunIsNotTaken(t *testing.T) {
	const next = uint64(0x1234_5678_9abc_def0) // far from the nonce of the former run, as random ones are
	forwarded := func(self ballot.Incarnation) (*bench, uint64) {
		b := newBenchOf(t, self, 1, 2, 3)
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: 7}}})
		b.request(1, 9*sec)
		b.run(0, Published{})
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
	b.give(Event{Peer: &Message{Kind: KindForwarded, From: 2, To: 1,
		Answers: []ForwardedAnswer{{ID: former, Outcome: Done}}}})
	b.run(sec, Published{})
	if r, answered := b.replies[1]; answered {
		t.Fatalf("the answer to write %d of the former run was taken for write %d of this one: %+v", former, own, r)
	}
	b.give(Event{Peer: &Message{Kind: KindForwarded, From: 2, To: 1,
		Answers: []ForwardedAnswer{{ID: own, Outcome: Done}}}})
	b.run(sec, Published{})
	if b.replies[1].Outcome != Done {
		t.Fatalf("the own answer was not taken: %+v", b.replies)
	}
}

// Only the node that a write was forwarded to can answer it.
func TestAnAnswerOfAnotherNodeIsNotTaken(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: 7}}})
	b.request(1, 9*sec)
	b.run(0, Published{})
	id := b.messages[len(b.messages)-1].Writes[0].ID
	b.give(Event{Peer: &Message{Kind: KindForwarded, From: 3, To: 1, Answers: []ForwardedAnswer{{ID: id, Outcome: Done}}}})
	b.run(0, Published{})
	if r, answered := b.replies[1]; answered {
		t.Fatalf("node 3 answered what was forwarded to node 2: %+v", r)
	}
}

// What is forwarded and not yet answered is bounded by number and by bytes; the rest waits here. A message is bounded
// by bytes, and takes at least one write.
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
			b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: 7}}})
			cmd := kv.Command{Op: kv.OpSet, Key: "k", Value: make([]byte, c.bytes)}
			var sent []Write
			messages := 0
			step := func() {
				b.messages = nil
				b.run(0, Published{})
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
				b.give(Event{Write: &Write{ID: uint64(i + 1), Command: kv.EncodeCommand(&cmd), Until: 9 * sec}})
				if c.bytes > 1<<16 || i%40 == 39 {
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
			ids := map[uint64]bool{}
			for _, w := range sent {
				ids[w.ID] = true
			}
			if len(ids) != len(sent) {
				t.Errorf("%d writes under %d ids", len(sent), len(ids))
			}
			// An answer makes space for the next.
			b.give(Event{Peer: &Message{Kind: KindForwarded, From: 2, To: 1,
				Answers: []ForwardedAnswer{{ID: sent[0].ID, Outcome: Done}}}})
			step()
			if want := min(c.times, c.most+1); len(sent) != want {
				t.Errorf("%d writes after an answer, want %d", len(sent), want)
			}
		})
	}
}

// What a write needs goes with it: how long its client waits yet, and whether it frees space.
func TestForwardedWritesSayWhatTheyAre(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: 7}}})
	b.give(Event{Write: &Write{ID: 1, Command: []byte("w"), Frees: true, Until: 9 * sec}})
	b.give(Event{Write: &Write{ID: 2, Command: []byte("v"), Until: 8 * sec}})
	b.run(3*sec, Published{})
	w := b.messages[len(b.messages)-1].Writes
	if len(w) != 2 || !w[0].Frees || w[1].Frees || w[0].Wait != 6*sec || w[1].Wait != 5*sec ||
		string(w[0].Command) != "w" {
		t.Fatalf("forwarded as %+v", w)
	}
}

// A node without the lease refuses what is forwarded to it, each write by its id.
func TestANodeWithoutTheLeaseRefusesWhatIsForwarded(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.give(Event{Peer: &Message{Kind: KindForward, From: 2, To: 1,
		Writes: []Write{{ID: 5, Command: []byte("v"), Wait: sec}, {ID: 6, Command: []byte("w"), Wait: sec}}}})
	b.again()
	if len(b.messages) != 1 || b.messages[0].Kind != KindForwarded || b.messages[0].To != 2 {
		t.Fatalf("sent %+v", b.messages)
	}
	for i, a := range b.messages[0].Answers {
		if a.ID != uint64(5+i) || a.Outcome != Refused || a.Reason != NoMaster {
			t.Errorf("answered %+v", a)
		}
	}
	if len(b.messages[0].Answers) != 2 || len(b.log.queue.items) != 0 {
		t.Errorf("%d answers, %d writes wait", len(b.messages[0].Answers), len(b.log.queue.items))
	}
}

// A holder of the lease that is not ready yet keeps what is forwarded to it for as long as its client waits.
func TestForwardedWritesWaitForReadiness(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.run(3*sec, tenure(1, 90*sec))
	b.messages = nil
	b.give(Event{Peer: &Message{Kind: KindForward, From: 2, To: 1,
		Writes: []Write{{ID: 5, Command: []byte("v"), Frees: true, Wait: sec}}}})
	b.again()
	if q := b.log.queue.items; len(q) != 1 || !q[0].Frees || q[0].at != 3*sec {
		t.Fatalf("waits as %+v", q)
	}
	b.tick(4*sec-1, b.pub)
	if b.again(); len(b.log.queue.items) != 1 {
		t.Fatalf("answered early: %+v", b.messages)
	}
	b.tick(4*sec, b.pub)
	b.again()
	if len(b.log.queue.items) != 0 || len(b.messages) == 0 || b.messages[len(b.messages)-1].Answers[0].ID != 5 {
		t.Fatalf("not answered in time: %+v", b.messages)
	}
}

// Answers travel together, within bounds of their number and of their bodies' bytes.
func TestAnswersToForwardedWritesAreBounded(t *testing.T) {
	for _, c := range []struct{ answers, bytes, want int }{
		{maxAnswers, 0, 1}, {maxAnswers + 1, 0, 2}, {4, 1024, 1}, {5, 1024, 2}, {3, 5000, 3},
	} {
		b := newBench(t, 1, 2, 3)
		for i := range c.answers {
			b.log.out.answerNode(2, ForwardedAnswer{ID: uint64(i + 1), Result: kv.Result{Body: string(make([]byte, c.bytes))}})
		}
		b.log.out.answerNode(3, ForwardedAnswer{ID: 1})
		b.again()
		seen, to2 := uint64(0), 0
		for _, m := range b.messages {
			if m.To == 3 {
				continue
			}
			to2++
			for _, a := range m.Answers {
				if seen++; a.ID != seen {
					t.Fatalf("answer %d comes in the place of %d", a.ID, seen)
				}
			}
		}
		if to2 != c.want || seen != uint64(c.answers) || len(b.messages) != c.want+1 {
			t.Errorf("%d answers of %d bytes: %d messages with %d answers, want %d", c.answers, c.bytes, to2, seen, c.want)
		}
	}
}

// A forwarded write that nobody answers is unknown when its client's time is over, and its late answer means nothing. A
// broken connection ends what went over it, and nothing else.
func TestForwardedWritesEnd(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: 7}}})
	b.request(1, sec)
	b.request(2, 5*sec)
	b.run(0, Published{})
	sent := b.messages[len(b.messages)-1].Writes
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 3, To: 1, Heartbeat: Heartbeat{Master: true, Epoch: 8}}})
	b.request(3, 5*sec)
	b.run(0, Published{})
	b.tick(sec-1, b.pub)
	if b.again(); len(b.replies) != 0 {
		t.Fatalf("answered early: %+v", b.replies)
	}
	b.tick(sec, b.pub)
	b.tick(sec, b.pub)
	if b.again(); len(b.replies) != 1 || b.replies[1].Outcome != Unknown || b.replies[1].Reason != TimedOut ||
		b.log.forwards.open != 2 {
		t.Fatalf("at the end of its time: %+v, %d are open", b.replies, b.log.forwards.open)
	}
	b.give(Event{Peer: &Message{Kind: KindForwarded, From: 2, To: 1,
		Answers: []ForwardedAnswer{{ID: sent[0].ID, Outcome: Done}}}})
	if b.again(); b.replies[1].Outcome != Unknown || b.log.forwards.open != 2 {
		t.Fatalf("a late answer: %+v, %d are open", b.replies, b.log.forwards.open)
	}
	b.give(Event{Down: 2})
	if b.again(); len(b.replies) != 2 || b.replies[2].Outcome != Unknown || b.replies[2].Reason != LinkLost ||
		b.log.forwards.open != 1 {
		t.Fatalf("after the loss of a connection: %+v, %d are open", b.replies, b.log.forwards.open)
	}
	b.give(Event{Down: 3})
	if b.again(); b.replies[3].Reason != LinkLost || len(b.log.forwards.items) != 0 || b.log.forwards.bytes != 0 {
		t.Fatalf("at last: %+v, %d items of %d bytes are kept", b.replies, len(b.log.forwards.items), b.log.forwards.bytes)
	}
}

// A verdict is about the sole copy only if each one before was refused for certain: then the write may get a newer
// base. One that was recalled, or whose connection broke, may have been applied.
func TestSoleIsOnlyACopyWithoutAnother(t *testing.T) {
	for what, c := range map[string]struct {
		between func(*forwards, *queue, *outbox)
		sole    bool
	}{
		"sent once": {nil, true},
		"refused before": {func(f *forwards, q *queue, out *outbox) {
			f.answered(0, 2, []ForwardedAnswer{{ID: f.next, Outcome: Refused, Reason: NoMaster}}, false, q, out)
		}, true},
		"recalled before":         {func(f *forwards, q *queue, _ *outbox) { f.recall(3, q) }, false},
		"sent over a broken link": {func(f *forwards, q *queue, out *outbox) { f.lost(2, q, out) }, false},
	} {
		f := forwards{max: 9, maxBytes: 1 << 20, maxMessage: 1 << 20}
		var q queue
		var out outbox
		q.push(write{Write: Write{ID: 7, Keyed: true, Command: []byte("c"), Until: sec}})
		f.forward(0, &q, 2, &out)
		to := ballot.NodeID(2)
		if c.between != nil {
			c.between(&f, &q, &out)
			to = 3
			f.forward(0, &q, to, &out)
		}
		verdict := ForwardedAnswer{ID: f.next, Outcome: Done, Result: kv.Result{Code: kv.CodeKeyTooOld, Revision: 9}}
		f.answered(0, to, []ForwardedAnswer{verdict}, false, &q, &out)
		r := out.out.Replies
		if len(r) != 1 || r[0].Result.Code != kv.CodeKeyTooOld || r[0].Sole != c.sole {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

// A keyed write whose outcome a master cannot tell after losing its lease waits for the next master, on the node of its
// client: a second copy does nothing. A write without a key is unknown, and so is every write if its node is leaving.
func TestAKeyedWriteOfALostMasterWaitsForTheNext(t *testing.T) {
	for _, c := range []struct{ keyed, leaving, waits bool }{{true, false, true}, {false, false, false}, {true, true, false}} {
		give := func(b *bench) {
			cmd := set("k", "v")
			b.give(Event{Write: &Write{ID: 7, Command: kv.EncodeCommand(&cmd), Keyed: c.keyed, Until: 80 * sec}})
		}
		follower := newBench(t, 1, 2)
		follower.give(Event{Up: 2})
		follower.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2,
			Heartbeat: Heartbeat{Master: true, Epoch: 4, LeaseLeft: sec, Membership: 1}}})
		give(follower)
		follower.settle(sec, Published{})
		sent := follower.messages[len(follower.messages)-1]
		if sent.Kind != KindForward {
			t.Fatalf("sent %+v", sent)
		}
		follower.log.leaving = c.leaving
		follower.give(Event{Peer: &Message{Kind: KindForwarded, From: 2,
			Answers: []ForwardedAnswer{{ID: sent.Writes[0].ID, Outcome: Unknown, Reason: LeaseLost}}}})
		follower.run(2*sec, Published{})

		master := newBench(t, 1, 2)
		p := master.lead(tenure(1, 90*sec))
		give(master)
		master.run(sec, p)
		master.log.leaving = c.leaving
		master.run(2*sec, Published{})

		for name, b := range map[string]*bench{"forwarded": follower, "proposed": master} {
			r, told := b.replies[7]
			if told == c.waits || told && r.Outcome != Unknown || c.waits && (len(b.log.queue.items) != 1 ||
				!b.log.queue.items[0].doubt || len(b.log.queue.items[0].Command) == 0) {
				t.Errorf("%+v, %s: told %v %+v, %d wait", c, name, told, r, len(b.log.queue.items))
			}
		}
	}
}
