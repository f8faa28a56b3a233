package lease

import "testing"

// Nodes of different versions talk to each other: a kind keeps its number.
func TestKindsAreOnTheWire(t *testing.T) {
	for k, want := range map[Kind]uint8{KindPrepare: 1, KindPromise: 2, KindPrepareRejected: 3, KindAccept: 4,
		KindAccepted:       5,
		KindAcceptRejected: 6, KindRelease: 7} {
		if uint8(k) != want {
			t.Errorf("%v is %d on the wire, was %d", k, k, want)
		}
	}
}
