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
