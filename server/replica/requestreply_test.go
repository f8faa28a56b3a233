package replica

import (
	"testing"

	"tenure/kv"
)

// A write may be forwarded again if a second copy does nothing more, and is accepted while space is short if it frees
// some.
func TestWhatARequestSaysOfItsCommand(t *testing.T) {
	for _, tc := range []struct {
		command      kv.Command
		keyed, frees bool
	}{
		{kv.Command{Op: kv.OpSet, Key: "k"}, false, false},
		{kv.Command{Op: kv.OpSet, Key: "k", IdemKey: "i"}, true, false},
		{kv.Command{Op: kv.OpDelete, Key: "k"}, false, true},
		{kv.Command{Op: kv.OpSessionRenew}, true, true},
		{kv.Command{Op: kv.OpSessionDestroy}, true, true},
		{kv.Command{Op: kv.OpSessionCreate}, false, false},
	} {
		if w := WriteOf(&tc.command); w.Keyed != tc.keyed || w.Frees != tc.frees {
			t.Errorf("operation %d: keyed %t, frees %t", tc.command.Op, w.Keyed, w.Frees)
		}
	}
}
