package replica

import (
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/replica/effect"
)

// T2: an event is handled by a reading of the clock that was made after it was taken.
func TestT2TheClockIsReadAfterTheEvents(t *testing.T) {
	r := newBench(t, 1).round
	var order []effect.Effect
	for e := effect.Effect(0); e != effect.Done; {
		var err error
		if e, err = r.Next(); err != nil {
			t.Fatal(err)
		}
		if e == effect.Clock {
			r.Read(sec, Published{})
		}
		order = append(order, e)
	}
	if order[0] != effect.Take || order[1] != effect.Clock {
		t.Errorf("a round begins with %v", order)
	}
}

// "chosen → apply → lease still held?": the reading that acknowledges is made after the entry was applied.
func TestTheReadingThatAcknowledgesComesAfterApply(t *testing.T) {
	for _, late := range []bool{false, true} {
		b := newBench(t, 1)
		p := b.settle(0, tenure(1, sec))
		b.request(1, 9*sec)
		b.run(0, p)
		b.sync()
		now := sec / 2
		for e := effect.Effect(0); e != effect.Done; {
			var err error
			if e, err = b.round.Next(); err != nil {
				t.Fatal(err)
			}
			b.out = *b.round.Output()
			switch e {
			case effect.Take:
				b.round.Add(&b.events[0])
			case effect.Clock:
				b.round.Read(now, p)
			case effect.Apply:
				b.carryOut(e)
				if late {
					now = sec
				}
			default:
				b.carryOut(e)
			}
		}
		if want := map[bool]Outcome{false: Done, true: Unknown}[late]; b.replies[1].Outcome != want {
			t.Errorf("the lease over while the entry was applied: %v, answered %+v", late, b.replies[1])
		}
	}
}

// A request that waits for so long waits from the reading of the round that takes it.
func TestWaitCountsFromTheRound(t *testing.T) {
	cmd := set("k", "v")
	for now, want := range map[time.Duration]Outcome{3*sec - 1: 0, 3 * sec: Refused} {
		b := newBench(t, 1)
		b.give(Event{Write: &Write{ID: 1, Command: kv.EncodeCommand(&cmd), Wait: sec}})
		b.give(Event{Read: &ReadRequest{ID: 2, Wait: sec}})
		b.run(2*sec, Published{})
		b.tick(now, Published{})
		if w, r := b.replies[1].Outcome, b.replies[2].Outcome; w != want || r != want {
			t.Errorf("at %v: write %d, read %d, want %d", now, w, r, want)
		}
	}
}

func TestARoundDoesNotGoOnWithoutWhatItHasAskedFor(t *testing.T) {
	b := newBench(t, 1)
	panics := func(what string, do func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		do()
	}
	for e := effect.Effect(0); e != effect.Clock; {
		e, _ = b.round.Next()
	}
	panics("without the clock", func() { _, _ = b.round.Next() })
	panics("locked for nothing", func() { _ = b.round.Locked() })
	b.round.Read(0, Published{})
	b.round.locked = effect.Apply
	panics("without the lock", func() { _, _ = b.round.Next() })
}

// A round in which nothing happens allocates nothing, in any part.
func TestARoundAllocatesNothing(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, time.Hour))
	event := Event{}
	if n := testing.AllocsPerRun(100, func() {
		for e := effect.Effect(0); e != effect.Done; {
			switch e, _ = b.round.Next(); e {
			case effect.Take:
				b.round.Add(&event)
			case effect.Clock:
				b.round.Read(sec, p)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations in a round of the log part", n)
	}
}
