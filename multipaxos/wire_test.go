package multipaxos

import "testing"

// Nodes of different versions talk to each other: a kind keeps its number.
func TestKindsAreOnTheWire(t *testing.T) {
	for k, want := range map[Kind]uint8{KindPrepare: 1, KindPromise: 2, KindAccept: 3, KindAccepted: 4, KindReject: 5,
		KindMark:      6,
		KindMarkReply: 7, KindFetch: 8, KindLearn: 9, KindConfirm: 10, KindConfirmed: 11} {
		if uint8(k) != want {
			t.Errorf("%v is %d on the wire, was %d", k, k, want)
		}
	}
}
