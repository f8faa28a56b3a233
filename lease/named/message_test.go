package named

import "testing"

// Nodes of different versions talk to each other: a kind keeps its number.
func TestKindsAreOnTheWire(t *testing.T) {
	for k, want := range map[Kind]uint8{Prepare: 1, Promise: 2, PrepareRejected: 3, Accept: 4, Accepted: 5, AcceptRejected: 6,
		Release: 7, Released: 8, Withdraw: 9} {
		if uint8(k) != want {
			t.Errorf("%v is %d on the wire, was %d", k, k, want)
		}
	}
}
