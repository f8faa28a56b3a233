package leases

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease/named"
)

// The nodes' waits for a name that has become free are apart, whatever the name, and the first is soon.
func TestRanksAreApart(t *testing.T) {
	w := newWorld(t)
	for last := range 256 {
		var name named.Name
		name[15] = byte(last)
		var waits []time.Duration
		for n := ballot.NodeID(1); n <= 3; n++ {
			waits = append(waits, w.nodes[n].pauses.rank(name))
		}
		slices.Sort(waits)
		for i, wait := range waits {
			if least := time.Duration(i) * rankStep; wait < least || wait >= least+rankStep/4 {
				t.Fatalf("name …%d: waits of %v", last, waits)
			}
		}
	}
}

// Nodes that did not answer are asked first all the same if there are not enough others.
func TestTheUnansweredAreAskedForWantOfOthers(t *testing.T) {
	for _, unanswered := range []quorum.Set{quorum.Of(2, 3), quorum.Of(1, 2, 3), quorum.Of(1, 2)} {
		w := newWorld(t)
		l := w.nodes[1]
		l.voters.unanswered = unanswered
		for counter := range uint64(6) {
			if s := l.voters.first(counter); s.Len() != 2 {
				t.Errorf("unanswered %v: %v are asked first", unanswered, s)
			}
		}
	}
}

// A queue that has no time is not woken by a timer of an earlier one.
func TestAQueueWithoutATimeIsNotWoken(t *testing.T) {
	w := newWorld(t)
	s := &w.nodes[1].queues
	first := &task{req: Request{ID: 1, Op: Acquire}}
	q := &queue{tasks: []*task{first}}
	if s.due(w.now, q) != nil {
		t.Error("an attempt is due")
	}
	s.wake(q, w.now+time.Second)
	if s.due(w.now+time.Second-1, q) != nil {
		t.Error("an attempt is due early")
	}
	if s.due(w.now+time.Second, q) != first {
		t.Error("no attempt is due in time")
	}
}

// Timers are kept while what they are for is there.
func TestTimersOfWhatIsGoneAreDropped(t *testing.T) {
	l := newWorld(t).nodes[1]
	here, gone := &queue{name: named.Name{'h'}, at: 5}, &queue{name: named.Name{'g'}, at: 5}
	l.queues.byName[here.name] = here
	l.tasks[7] = &task{}
	for _, x := range []struct {
		e    timerEntry
		want bool
	}{
		{timerEntry{at: 5, do: timer{queue: here}}, true},
		{timerEntry{at: 4, do: timer{queue: here}}, false},
		{timerEntry{at: 5, do: timer{queue: gone}}, false},
		{timerEntry{do: timer{next: here}}, true},
		{timerEntry{do: timer{next: gone}}, false},
		{timerEntry{do: timer{retry: 7}}, true},
		{timerEntry{do: timer{retry: 8}}, false},
		{timerEntry{do: timer{expire: 7}}, true},
		{timerEntry{do: timer{expire: 8}}, false},
	} {
		if l.needed(x.e) != x.want {
			t.Errorf("%+v: kept is %v", x.e, !x.want)
		}
	}
}

// A task blocked by a lease that its own acceptor does not know tries again when the lease may have ended, and not
// before.
func TestABlockedAttemptWaits(t *testing.T) {
	w := newWorld(t)
	w.cut[3] = true
	w.want(acquired(w, "x", 2*soon), Done) // with node 2
	w.cut[3] = false
	id := w.ask(3, Acquire, "x", "b", 20*time.Second)
	w.pass(20 * time.Millisecond)
	task := w.nodes[3].tasks[id]
	if task == nil || task.tries == 0 {
		t.Fatalf("it has not tried: %+v", task)
	}
	tries := task.tries
	w.pass(testTTL / 2)
	if task.tries != tries {
		t.Errorf("it tried %d times more while the lease ran", task.tries-tries)
	}
	w.pass(testTTL)
	w.want(id, Done)
}
