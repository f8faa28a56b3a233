package compare

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/jepsen/compare/flease"
	"tenure/lease"
)

// voters are how many nodes vote: nodes 1 to 3, whoever else contends.
const voters = 3

// Params are the constants of a comparison, the same for all algorithms.
type Params struct {
	Lease    time.Duration // D_P = M, t_max, T
	DriftPPM int64         // ρ: PaxosLease and the vote are safe while clocks' rates err by less
	Margin   time.Duration // of PaxosLease and the vote
	Skew     time.Duration // ε: Flease is safe while wall clocks are no further apart
	// A failed attempt is followed by the next after a wait drawn evenly between these. So is the end of one's own
	// lease.
	BackoffLeast, BackoffMost time.Duration
	Resend                    time.Duration // what is not answered by then is sent again
	GiveUpAfter               time.Duration // an attempt that has come to nothing by then is given up
	DelayLeast, DelayMost     time.Duration // of a message, drawn evenly
}

// DefaultParams are those of the tables: leases of a second, the drift and margin that the product comes with, and wall
// clocks that are kept within 50 ms. The wait between tries is that of the product for a lease that nobody is known to
// hold.
var DefaultParams = Params{
	Lease: time.Second, DriftPPM: 10_000, Margin: 10 * time.Millisecond, Skew: 50 * time.Millisecond,
	BackoffLeast: time.Second / 32, BackoffMost: time.Second / 8, Resend: 25 * time.Millisecond,
	GiveUpAfter: 100 * time.Millisecond,
	DelayLeast:  time.Millisecond, DelayMost: 5 * time.Millisecond,
}

func (p Params) timing() lease.Timing {
	return lease.Timing{MaxMaster: p.Lease, MaxUser: p.Lease, DriftPPM: p.DriftPPM, Margin: p.Margin}
}

func (p Params) flease(self ballot.NodeID) flease.Config {
	return flease.Config{Self: self, Voters: voterSet(), Lease: p.Lease, Skew: p.Skew}
}

func voterSet() quorum.Set { return quorum.Of(1, 2, 3) }

// readings are a node's two clocks, read at once.
type readings struct{ elapsed, wall time.Duration }

// letter is a message of one of the algorithms.
type letter struct {
	from, to ballot.NodeID
	request  bool // for the voter there, and not for the contender
	body     any
}

// letters makes requests of messages, whose ends the function returns.
func letters[M any](ms []M, ends func(M) (from, to ballot.NodeID)) []letter {
	out := make([]letter, 0, len(ms))
	for _, m := range ms {
		from, to := ends(m)
		out = append(out, letter{from, to, true, m})
	}
	return out
}

// standing is the state of a contender at a reading of its clocks.
type standing struct {
	owns    bool
	busy    bool          // an attempt is in progress
	won     bool          // the last attempt that ended has made this node the owner
	left    time.Duration // owns: how long still, on its own clock
	renewIn time.Duration // owns: until a renewal is due
}

// contender is the part of an algorithm that wants to own.
type contender interface {
	start(r readings) []letter
	take(r readings, l letter) []letter
	resend(r readings) []letter
	// leave returns the messages to send when this node no longer owns, or its attempt has just failed.
	leave(r readings) []letter
	standing(r readings) standing
	owns(r readings) bool // as standing has it
}

// voter is the part of an algorithm that answers.
type voter interface {
	take(r readings, l letter) (letter, bool)
}

// core is an algorithm.
type core struct {
	name string
	// boot starts a run of a node, its runs-th; the voter is used on nodes 1 to 3 only. A run but the first begins with
	// what the algorithm asks for after a restart.
	boot    func(id ballot.NodeID, runs int, r readings) (contender, voter)
	restart time.Duration // how long a voter that was restarted keeps silent
	renews  bool
}

// cores are the three algorithms under these constants.
func cores(p Params) []core { return []core{leaseCore(p), fleaseCore(p), voteCore(p)} }

// must is for configurations that DefaultParams or a test has fixed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
