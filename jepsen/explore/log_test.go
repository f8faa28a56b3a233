package explore

import (
	"context"
	"strings"
	"testing"
)

func TestExploreLogShort(t *testing.T) {
	for _, name := range []string{"log-2-nodes", "log-2-nodes-crash", "log-2-nodes-change", "log-2-nodes-change-crash"} {
		if r := clean(t, name); r.States < 3000 {
			t.Errorf("%s: %d states", name, r.States)
		}
	}
}

// These are too large to be finished in a test; what breaks soon shows.
func TestExploreLogBounded(t *testing.T) {
	for _, name := range []string{"log-2-nodes-2-slots", "log-3-nodes", "log-3-nodes-crash",
		"log-2-nodes-2-changes", "log-3-nodes-change", "log-3-nodes-2-changes"} {
		sound(t, name, 200_000)
	}
}

// Values are chosen: a search without a chosen value would prove nothing.
func TestLogChooses(t *testing.T) {
	l := newLogModel(parse[LogConfig](t, "log-2-nodes"))
	if _, out := runModel(context.Background(), l, Limits{}); out.what != "" {
		t.Fatal(out.what)
	}
	if l.histories.n < 3 { // none, and each of the two leaders' values
		t.Errorf("only %d histories", l.histories.n)
	}
	l = newLogModel(parse[LogConfig](t, "log-2-nodes-change"))
	if _, out := runModel(context.Background(), l, Limits{}); out.what != "" {
		t.Fatal(out.what)
	}
	above := false
	for id := range l.histories.n {
		above = above || strings.HasPrefix(string(*l.histories.get(id)), "M2;1.") // with the vote of the new member
	}
	if !above {
		t.Errorf("%d histories, and in none has the new member voted for anything", l.histories.n)
	}
}
