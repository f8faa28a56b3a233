package named

import (
	"testing"
	"time"
)

func TestOneOwnerAtATimeAndTokensGrow(t *testing.T) {
	w := newWorld(t)
	a := w.try(ask("a"))
	w.want(a, EndWon)
	if a.Token() != FirstToken(2)+1 { // of the first quorum, nodes 1 and 2
		t.Errorf("token %v", a.Token())
	}
	b := w.try(ask("b"))
	w.want(b, EndBlocked)
	if l, ok := b.Blocker(); !ok || l.Owner != "owner of a" || l.Left != 510*time.Millisecond || b.RetryIn() != l.Left {
		t.Errorf("blocked by %+v, retry in %v", l, b.RetryIn())
	}
	w.now += 300 * time.Millisecond
	again := w.try(renewal("a"))
	w.want(again, EndWon)
	if again.Token() != a.Token() || again.Deadline() != w.now+500*time.Millisecond {
		t.Errorf("renewed under %v until %v", again.Token(), again.Deadline())
	}
	w.now += 509 * time.Millisecond
	w.want(w.try(ask("b")), EndBlocked)
	w.now += time.Millisecond
	w.want(w.try(renewal("a")), EndLost)
	b = w.try(ask("b"))
	w.want(b, EndWon)
	if b.Token() <= a.Token() {
		t.Errorf("the second owner has token %v, the first had %v", b.Token(), a.Token())
	}
}

func TestReleaseLetsTheNextOneIn(t *testing.T) {
	w := newWorld(t)
	a := w.try(ask("a"))
	for _, table := range w.tables {
		if _, ok := table.Handle(w.now, w.self, Request{Kind: Release, Name: nameOf("n"), Counter: 99,
			Acquisition: acquisitionOf("a")}); !ok {
			t.Error("a Release was not answered")
		}
	}
	w.now += time.Minute
	for _, table := range w.tables {
		for table.Sweep(w.now, 1) {
		}
		if table.Records() != 0 || table.Floor() < a.Token() {
			t.Errorf("after the sweep: %d records, floor %v, released token %v", table.Records(), table.Floor(), a.Token())
		}
	}
	b := w.try(ask("b"))
	w.want(b, EndWon)
	if b.Token() <= a.Token() {
		t.Errorf("token %v after %v", b.Token(), a.Token())
	}
}
