package replica

import (
	"testing"

	"tenure/internal/ballot"
	"tenure/kv"
)

// N3: without a verdict a run asks by the same command, so that one entry at most allots an era. After a verdict it
// asks under another key, which no other run has.
func TestN3ARunAsksForAnEraUnderItsOwnKeys(t *testing.T) {
	a := EraAsk{Self: ballot.Incarnation{Node: 1, Restart: 2, Nonce: 3}}
	first := a.Next(7)
	if again := a.Next(8); again.IdemKey != first.IdemKey || again.Base != 7 {
		t.Errorf("%+v, then %+v", first, again)
	}
	if era := a.Took(&kv.Result{Code: kv.CodeKeyTooOld, Count: 5}); era != 0 {
		t.Errorf("era %d without one", era)
	}
	second := a.Next(8)
	if second.IdemKey == first.IdemKey || second.Base != 8 {
		t.Errorf("%+v, then %+v", first, second)
	}
	if era := a.Took(&kv.Result{Code: kv.CodeDone, Count: 5}); era != 5 {
		t.Errorf("era %d", era)
	}
	if third := a.Next(9); third.IdemKey == second.IdemKey {
		t.Errorf("asks for the next era under the key %q of the last", third.IdemKey)
	}
	other := EraAsk{Self: ballot.Incarnation{Node: 1, Restart: 3, Nonce: 3}}
	if c := other.Next(7); c.IdemKey == first.IdemKey {
		t.Errorf("another run has the key %q", c.IdemKey)
	}
}
