package named

import (
	"fmt"
	"testing"
)

// Directed schedules, too long for a search to find. Each is played up to the step that decides.

// The era 1 is used up. If its last token were followed by one of era 2, that era would be handed out later, as new, to
// those who have forgotten.
func TestScheduleEraCarry(t *testing.T) {
	w := newWorld(t)
	for n := range w.tables {
		w.start(n, testConfig(), 1)
		w.tables[n].raise(FirstToken(2) - 1)
	}
	var largest Token
	for i := range 3 {
		who := fmt.Sprintf("early %d", i)
		a := w.try(ask(who))
		if a.End() != EndWon {
			w.want(a, EndUsedUp)
			continue
		}
		largest = max(largest, a.Token())
		for _, table := range w.tables {
			does(t, table, w.now, releaseOf(who), Released)
		}
	}
	for n := range w.tables {
		w.start(n, testConfig(), 2)
	}
	a := w.try(ask("later"))
	w.want(a, EndWon)
	if a.Token() <= largest {
		t.Errorf("a later owner has token %v, an earlier one had %v", a.Token(), largest)
	}
}
