package replica

import "testing"

// Nodes of different versions talk to each other, and clients' writes stand in the log: kinds keep their numbers.
func TestKindsAreOnTheWire(t *testing.T) {
	for k, want := range map[MessageKind]uint8{KindHeartbeat: 1, KindForward: 2, KindForwarded: 3, KindReadPoint: 4,
		KindReadPointR: 5} {
		if uint8(k) != want {
			t.Errorf("kind %d on the wire was %d", k, want)
		}
	}
}
