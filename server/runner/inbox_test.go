package runner

import (
	"sync"
	"testing"
	"testing/synctest"

	"tenure/multipaxos"
	"tenure/server/replica"
)

func TestInboxKeepsOrder(t *testing.T) {
	b := newInbox[logEvent]()
	b.put(logEvent{Event: replica.Event{Persisted: 1}})
	b.leave(logEvent{Event: replica.Event{Persisted: 2}})
	got := b.popAll()
	if len(got) != 2 || got[0].Persisted != 1 || got[1].Persisted != 2 {
		t.Fatalf("%+v", got)
	}
	if len(b.popAll()) != 0 {
		t.Fatal("an event came twice")
	}
}

// One goroutine at a time steps, and every event is seen: none stays behind in the inbox.
func TestOneAtATimeSteps(t *testing.T) {
	b := newInbox[logEvent]()
	stepping, seen := false, uint64(0) // neither is guarded: the race detector looks on
	onward := make(chan struct{}, 1)
	turn := func() bool {
		if stepping {
			t.Error("two step at a time")
		}
		stepping = true
		for _, e := range b.popAll() {
			seen += e.Persisted
		}
		stepping = false
		return !b.release()
	}
	b.drain = func() {
		if turn() {
			b.handOn(onward)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-onward:
				for turn() {
				}
			case <-stop:
				return
			}
		}
	}()
	const goroutines, events = 8, 2000
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := range events {
				switch i % 3 {
				case 0:
					b.put(logEvent{Event: replica.Event{Persisted: 1}})
				case 1:
					b.putPeer(logEvent{Event: replica.Event{Persisted: 1}}, i%2 == 0)
				default:
					_ = b.putClient(logEvent{Event: replica.Event{Persisted: 1}})
				}
			}
		})
	}
	all.Wait()
	b.put(logEvent{})
	close(stop)
	<-stopped
	select {
	case <-onward:
		for turn() {
		}
	default:
	}
	b.close()
	b.quiet()
	if seen != goroutines*events {
		t.Fatalf("%d of %d events were seen", seen, goroutines*events)
	}
}

// A turn that is handed on when the inbox is closed ends: nobody waits for it any more.
func TestClosedInboxEndsTheTurn(t *testing.T) {
	b := newInbox[logEvent]()
	onward := make(chan struct{}, 1)
	b.drain = func() {
		b.close()
		b.handOn(onward)
	}
	b.put(logEvent{})
	b.quiet() // would hang
	if len(onward) != 0 {
		t.Fatal("a turn was handed to a loop that may have ended")
	}
	b.put(logEvent{}) // nobody steps: drain would close again
}

func TestInboxRefusesClientsBeyondItsBound(t *testing.T) {
	b := newInbox[logEvent]()
	for range MaxClientRequests {
		if b.putClient(logEvent{}) != nil {
			t.Fatal("refused below the bound")
		}
	}
	if err := b.putClient(logEvent{}); err != ErrOverloaded {
		t.Fatal("no bound")
	}
	b.popAll()
	if b.putClient(logEvent{}) != nil {
		t.Fatal("refused although there is space again")
	}
}

// A peer that sends faster than the loop reads waits, and its connection pushes back; nothing is lost.
func TestInboxMakesPeersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox[logEvent]()
		done := 0
		go func() {
			for range maxInboxPeer + 10 {
				b.putPeer(logEvent{Event: replica.Event{Log: &multipaxos.Message{}}}, false)
			}
			done = 1
		}()
		synctest.Wait()
		if done != 0 {
			t.Fatal("the peer did not wait")
		}
		if got := len(b.popAll()); got != maxInboxPeer {
			t.Fatalf("%d events at the bound of %d", got, maxInboxPeer)
		}
		synctest.Wait()
		if got := len(b.popAll()); done != 1 || got != 10 {
			t.Fatalf("%d events came after there was space", got)
		}
	})
}

func TestClosedInboxLetsNobodyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox[logEvent]()
		go func() {
			for range 2 * maxInboxPeer {
				b.putPeer(logEvent{}, false)
			}
		}()
		synctest.Wait()
		b.close()
		synctest.Wait() // would report a deadlock
		if err := b.putClient(logEvent{}); err != ErrClosed {
			t.Fatal("a closed inbox took a request")
		}
	})
}
