package explore

import (
	"context"
	"strings"
	"testing"
)

func TestExploreNamedShort(t *testing.T) {
	for _, name := range []string{"named-base", "named-own-eras-retry"} {
		if r := clean(t, name); r.States < 5000 {
			t.Errorf("%s: %d states", name, r.States)
		}
	}
}

// These take too long to be finished in a test; what breaks soon shows.
func TestExploreNamedBounded(t *testing.T) {
	for _, name := range []string{"named-sweep", "named-renewal", "named-restart", "named-two-names"} {
		sound(t, name, 20_000)
	}
}

// The world does what it is for: somebody comes to hold, and somebody else after that.
func TestNamedLeasesAreHeld(t *testing.T) {
	l := newNamedModel(parse[NamedConfig](t, "named-base"))
	runModel(context.Background(), l, Limits{})
	first, second := false, false
	for id := uint32(1); id <= l.pasts.n; id++ {
		h := l.pasts.get(id).names[0]
		first, second = first || h.last > 0, second || h.earlier > 0
	}
	if !first || !second {
		t.Errorf("held once %v, twice %v", first, second)
	}
}

// A trace can be told: with clocks that nobody minds, two hold at once, and the way there is shown.
func TestNamedTraceIsTold(t *testing.T) {
	l := newNamedModel(parse[NamedConfig](t, "named-base"))
	_, out := runModel(context.Background(), &heldOnce{l}, Limits{})
	if out.what == "" {
		t.Fatal("nobody ever holds")
	}
	steps := retrace(&heldOnce{l}, &namedTeller{l}, out)
	if len(steps) < 6 || !strings.Contains(steps[len(steps)-1].Line, "HOLDS") || !strings.Contains(steps[0].Script,
		"acquire through") {
		t.Errorf("%d steps: %+v", len(steps), steps)
	}
}

// heldOnce calls it broken that somebody holds.
type heldOnce struct{ *namedModel }

type heldOnceExplorer struct{ *namedExplorer }

func (m *heldOnce) explorer() explorer {
	return &heldOnceExplorer{m.namedModel.explorer().(*namedExplorer)}
}

func (x *heldOnceExplorer) broken(s *state) string {
	for i := range x.l.c.Clients {
		if x.l.clients.get(s[atClients+i]).held {
			return "somebody holds"
		}
	}
	return ""
}
