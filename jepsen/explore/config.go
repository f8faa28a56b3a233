package explore

import (
	"errors"
	"fmt"
	"time"

	"tenure/lease"
)

const (
	maxProposers = 3
	maxAcceptors = 3
	// maxBallots bounds the counters; with the durations it must fit a start's operand.
	maxBallots   = 15
	maxDurations = 4
)

// ErrConfig is wrapped by every error about a configuration.
var ErrConfig = errors.New("explore")

// Config is a bounded world of lease proposers and acceptors. Everything in it is a bound of what is explored; within
// them every order of every event is.
type Config struct {
	Name      string
	Proposers int
	Acceptors int
	// Ballots is the highest counter a proposer may draw. A proposer may skip counters, as if it had seen a rejection.
	Ballots int
	// Draws, if not 0, is how many ballots a node's proposers draw in all their runs.
	Draws int
	// Prompt has a proposer abandon an attempt in the very tick its deadline passes (P5, by Resend), not some time
	// after.
	Prompt bool
	// Durations are the D_P that attempts choose from; M bounds them. NewM, if not 0, is another M under which an
	// acceptor may restart.
	Durations []time.Duration
	M, NewM   time.Duration
	DriftPPM  int64
	Margin    time.Duration
	// Rates are how far a node's clock goes in one tick; 1 ms each if there are none.
	ProposerRates, AcceptorRates []time.Duration
	// ProposerRestarts is how many restarts of proposers there are in all.
	ProposerRestarts int
	// AcceptorRestarts allows any number of restarts of acceptors.
	AcceptorRestarts bool
	Renew            bool // attempts while a lease is held
	Retry            bool // attempts in the middle of one, Abandon, Resend
	Release          bool
	// Once has each copy of a message arrive once or never, and what is resent be a new copy. Without it all that was
	// ever sent may arrive any number of times, which allows the same and more, and needs fewer states.
	Once bool
	// LoseReplies lets a reply be lost. Without it only requests are: each may never arrive.
	LoseReplies bool
	// Async lets replies travel like requests. Without it a reply arrives at once, or never if they can be lost.
	Async bool
	// Epochs also checks M1: a tenure that goes on has had no other owner in it.
	Epochs bool
	// Guardian has a guardian beside each proposer (P7): what it notes is released at any time after a restart.
	Guardian bool
}

// Validate returns an error that wraps ErrConfig if the world cannot be built.
func (c Config) Validate() error {
	bad := func(format string, args ...any) error {
		return refused(c.Name, format, args...)
	}
	switch {
	case c.Proposers < 1 || c.Proposers > maxProposers:
		return bad("%d proposers, not 1 to %d", c.Proposers, maxProposers)
	case c.Acceptors < 1 || c.Acceptors > maxAcceptors:
		return bad("%d acceptors, not 1 to %d", c.Acceptors, maxAcceptors)
	case c.Ballots < 1 || c.Ballots > maxBallots:
		return bad("%d ballots, not 1 to %d", c.Ballots, maxBallots)
	case len(c.Durations) < 1 || len(c.Durations) > maxDurations:
		return bad("%d durations, not 1 to %d", len(c.Durations), maxDurations)
	case len(c.ProposerRates) != 0 && len(c.ProposerRates) != c.Proposers, len(c.AcceptorRates) != 0 &&
		len(c.AcceptorRates) != c.Acceptors:
		return bad("rates for some nodes only")
	case c.ProposerRestarts < 0 || c.ProposerRestarts > 7:
		return bad("%d restarts of proposers, not 0 to 7", c.ProposerRestarts)
	}
	for _, d := range c.Durations {
		if !c.timing(c.M).Allows(d) {
			return bad("an attempt for %v, M is %v", d, c.M)
		}
	}
	if err := c.timing(c.M).Validate(); err != nil {
		return bad("%v", err)
	}
	return nil
}

func (c Config) label() string { return c.Name }

func (c Config) says() string {
	return fmt.Sprintf("proposers %d, acceptors %d, ballots %d", c.Proposers, c.Acceptors, c.Ballots)
}

func (c Config) open() (model, narrator) {
	l := newLeaseModel(c)
	return l, &teller{l}
}

func (c Config) timing(m time.Duration) lease.Timing {
	return lease.Timing{MaxMaster: m, MaxUser: m, DriftPPM: c.DriftPPM, Margin: c.Margin}
}

// longest returns the M that an acceptor may start under; the first is every node's at bootstrap.
func (c Config) longest() []time.Duration {
	if c.NewM > 0 {
		return []time.Duration{c.M, c.NewM}
	}
	return []time.Duration{c.M}
}

func rate(rates []time.Duration, i int) time.Duration {
	if len(rates) == 0 {
		return time.Millisecond
	}
	return rates[i]
}
