package server

import (
	"testing"
	"testing/synctest"

	"tenure/multipaxos"
)

func TestInboxKeepsOrderAndWakesOnce(t *testing.T) {
	b := newInbox()
	b.put(event{persisted: 1})
	b.put(event{persisted: 2})
	if len(b.wake) != 1 {
		t.Fatal("two events need one wake-up")
	}
	got := b.take()
	if len(got) != 2 || got[0].persisted != 1 || got[1].persisted != 2 {
		t.Fatalf("%+v", got)
	}
	if len(b.take()) != 0 {
		t.Fatal("an event came twice")
	}
}

func TestInboxRefusesClientsBeyondItsBound(t *testing.T) {
	b := newInbox()
	for range maxInboxClient {
		if !b.putClient(event{}) {
			t.Fatal("refused below the bound")
		}
	}
	if b.putClient(event{}) {
		t.Fatal("no bound")
	}
	b.take()
	if !b.putClient(event{}) {
		t.Fatal("refused although there is room again")
	}
}

// A peer that sends faster than the loop reads waits, and its connection pushes back; nothing is lost.
func TestInboxMakesPeersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		done := 0
		go func() {
			for range maxInboxPeer + 10 {
				b.putPeer(event{log: &multipaxos.Message{}})
			}
			done = 1
		}()
		synctest.Wait()
		if done != 0 {
			t.Fatal("the peer did not wait")
		}
		if got := len(b.take()); got != maxInboxPeer {
			t.Fatalf("%d events at the bound of %d", got, maxInboxPeer)
		}
		synctest.Wait()
		if got := len(b.take()); done != 1 || got != 10 {
			t.Fatalf("%d events came after there was room", got)
		}
	})
}

func TestClosedInboxLetsNobodyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		go func() {
			for range 2 * maxInboxPeer {
				b.putPeer(event{})
			}
		}()
		synctest.Wait()
		b.close()
		synctest.Wait() // would report a deadlock
		if b.putClient(event{}) {
			t.Fatal("a closed inbox took a request")
		}
	})
}
