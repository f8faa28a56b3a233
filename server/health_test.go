package server

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/server/replica"
)

// TestM6LogLoopThatHangs: if the log loop hangs itself the lease loop lets go, but only while a peer says that it is
// able.
func TestM6LogLoopThatHangs(t *testing.T) {
	timing := lease.Timing{MaxMaster: time.Hour, MaxUser: time.Second}
	e, err := replica.NewElector(replica.ElectorConfig{Self: ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}, Voters: quorum.Of(1),
		Timing: timing, Duration: time.Hour, Seed: 1, Acceptor: lease.AcceptorConfig{Self: 1, Timing: timing}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	const ticked = 10 * time.Minute
	for r, effect := replica.NewElectorRound(e), replica.EffectTake; effect != replica.EffectDone; {
		if effect = r.Next(); effect == replica.EffectClock {
			r.Read(ticked, false)
		}
	}
	n := &Node{cfg: Config{LeaseTime: time.Second}, elector: e, peers: []ballot.NodeID{2}, healths: newHealths([]ballot.NodeID{2})}
	const bound = 4 * time.Second
	for _, tc := range []struct {
		name string
		at   time.Duration // of the log loop's last tick
		word word
		now  time.Duration
		lets bool
	}{
		{"it ticks", ticked, word{replica.Health{Able: true}, ticked + bound - 2}, ticked + bound - 1, false},
		{"it hangs, and nobody is able", ticked, word{replica.Health{}, ticked + bound}, ticked + bound, false},
		{"it hangs, and the word is old", ticked, word{replica.Health{Able: true}, ticked}, ticked + bound, false},
		{"it has not ticked yet", 0, word{replica.Health{Able: true}, ticked + bound}, ticked + bound, false},
		{"it hangs, and a peer is able", ticked, word{replica.Health{Able: true}, ticked + bound}, ticked + bound, true},
	} {
		n.standing.Store(&replica.Standing{At: tc.at, Able: true})
		n.healths[2].Store(&tc.word)
		g := n.logHangs(tc.now)
		if (g.Tenure != 0) != tc.lets || n.standing.Load().Barred != tc.lets {
			t.Errorf("%s: %+v, %+v", tc.name, g, *n.standing.Load())
		}
	}
}
