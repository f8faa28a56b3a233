package lease

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// worst is how far the clocks of this test err, in shares of ρ: the bound itself.
const worst = 1.0

// TestDriftWithinTheBoundHolds plays the worst that clocks may do. The owner's clock is slow by ρ and owns for longest;
// the acceptors' clocks are fast by ρ and exclude for shortest. It also plays every other mixture. The other proposer
// tries at every instant. With clocks that err by 1.05·ρ two owners must appear, or the test proves nothing.
func TestDriftWithinTheBoundHolds(t *testing.T) {
	timing := Timing{MaxMaster: 100 * ms, MaxUser: 100 * ms, DriftPPM: 100_000}
	for _, x := range []struct {
		errs    float64
		overlap bool
	}{{worst, false}, {worst * 1.05, true}} {
		overlap := false
		for _, owner := range []float64{-x.errs, 0, x.errs} {
			for _, acceptors := range []float64{-x.errs, 0, x.errs} {
				overlap = driftOverlaps(timing, owner, acceptors) || overlap
			}
		}
		if overlap != x.overlap {
			t.Errorf("clocks that err by %v·ρ: two owners %v", x.errs, overlap)
		}
	}
}

// driftOverlaps reports whether p and q ever own at once, with p's clock and the acceptors' off by shares of ρ.
func driftOverlaps(timing Timing, owner, acceptors float64) bool {
	rate := func(share float64) func(time.Duration) time.Duration {
		r := 1 + share*float64(timing.DriftPPM)/million
		return func(real time.Duration) time.Duration { return time.Duration(float64(real) * r) }
	}
	pClock, aClock, qClock := rate(owner), rate(acceptors), rate(0)
	proposer := func(id ballot.NodeID) *Proposer {
		return must(NewProposer(ProposerConfig{Self: ballot.Incarnation{Node: id, Nonce: 1},
			Duration: timing.MaxMaster, Voters: quorum.Of(1, 2, 3), Timing: timing}))
	}
	var as []*Acceptor
	for id := ballot.NodeID(1); id <= 3; id++ {
		as = append(as, must(NewAcceptor(AcceptorConfig{Self: id, Timing: timing})))
	}
	try := func(pr *Proposer, now, at time.Duration) {
		for out := pr.Start(now); len(out) > 0; {
			if reply, ok := as[out[0].To-1].Handle(at, out[0]); ok {
				out = append(out, pr.Handle(now, reply)...)
			}
			out = out[1:]
		}
	}
	pr, qr := proposer(p), proposer(q)
	try(pr, 0, 0)
	if _, held := pr.Held(0); !held {
		panic("p has not won")
	}
	for real := time.Duration(0); real < 2*timing.MaxMaster; real += ms / 10 {
		if _, held := qr.Held(qClock(real)); !held {
			try(qr, qClock(real), aClock(real))
		}
		_, mine := pr.Held(pClock(real))
		_, other := qr.Held(qClock(real))
		if mine && other {
			return true
		}
	}
	return false
}
