package kv

import "testing"

// Every time that can run has a command that ends it, which is carried out while space is short.
func TestEveryTimedHasItsEnd(t *testing.T) {
	for kind, name := range map[TimedKind]string{TimedSession: one, TimedKey: "k", TimedDelay: "k", TimedQuota: "k/",
		TimedUpload: uploadA, TimedToken: sessionID(1)} {
		c := Timed{Kind: kind, Name: name, Arm: 3}.End()
		if err := c.Validate(); err != nil || c.Arm != 3 || !c.GoesOnFull() {
			t.Errorf("kind %d: %+v: %v", kind, c, err)
		}
	}
}
