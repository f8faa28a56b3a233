package explore

import (
	"context"
	"strings"
	"testing"
)

func exploredLog(t *testing.T, name string, max int) Result {
	t.Helper()
	c, err := ParseLog(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RunLog(context.Background(), c, Limits{MaxStates: max})
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation != "" {
		var b strings.Builder
		r.Print(&b)
		t.Fatalf("go run ./jepsen explore --config %s\n%s", name, b.String())
	}
	t.Logf("%s: %s: %d states, depth %d", name, r.Verdict(), r.States, r.Depth)
	return r
}

func TestExploreLogShort(t *testing.T) {
	for _, name := range []string{"log-2-nodes", "log-2-nodes-crash"} {
		if r := exploredLog(t, name, 0); !r.Complete() || r.States < 5000 {
			t.Errorf("%s: %s, %d states", name, r.Verdict(), r.States)
		}
	}
}

// These are too large to be finished in a test; what breaks soon shows.
func TestExploreLogBounded(t *testing.T) {
	for _, name := range []string{"log-2-nodes-2-slots", "log-3-nodes", "log-3-nodes-crash"} {
		exploredLog(t, name, 200_000)
	}
}

// What is chosen is: a search in which no value is ever chosen would prove nothing.
func TestLogChooses(t *testing.T) {
	c, err := ParseLog("log-2-nodes")
	if err != nil {
		t.Fatal(err)
	}
	l := newLogModel(c)
	if _, out := runModel(context.Background(), l, Limits{}); out.what != "" {
		t.Fatal(out.what)
	}
	if l.histories.n < 3 { // none, and each of the two leaders' values
		t.Errorf("only %d histories", l.histories.n)
	}
}
