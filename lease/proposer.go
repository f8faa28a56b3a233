package lease

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// ProposerConfig is what a run starts with.
type ProposerConfig struct {
	Self     ballot.Incarnation // a new one in every run: ballots and ownership are its own (T4)
	Duration time.Duration      // D_P of attempts that Start makes
	Voters   quorum.Set         // the acceptors, until SetMembership
	Timing   Timing
	// Membership is the number of the membership that has these voters; 0 counts as 1.
	Membership uint64
}

// Validate refuses a configuration under which no proposer may run.
func (c ProposerConfig) Validate() error {
	switch {
	case !isNode(c.Self.Node):
		return fmt.Errorf("lease proposer: node id %d is not 1 to %d", c.Self.Node, ballot.MaxNodeID)
	case c.Voters.Len() == 0:
		return fmt.Errorf("lease proposer: no voters")
	case !c.Timing.Allows(c.Duration):
		return fmt.Errorf("%w: a lease of %v does not satisfy 0 < D_P ≤ M = %v", ErrTiming, c.Duration, c.Timing.MaxMaster)
	}
	return c.Timing.Validate()
}

// Proposer tries to own the master resource on behalf of its incarnation. It holds no pointers: a copy is independent.
type Proposer struct {
	cfg     ProposerConfig
	counter uint64     // highest that was drawn or seen in a rejection (T4)
	current membership // of the next attempt
	attempt attempt
	held    Tenure
	// unreleased are the ballots that Release has to name (P6).
	unreleased ballots
	last       End
}

// NewProposer starts a proposer that owns nothing. The error says what is wrong with the configuration.
func NewProposer(c ProposerConfig) (*Proposer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Proposer{cfg: c, current: membership{stamp(c.Membership), c.Voters}}, nil
}

// Clone is an independent copy.
func (p *Proposer) Clone() *Proposer {
	c := *p
	return &c
}

// Start is StartFor with the configured D_P.
func (p *Proposer) Start(now time.Duration) []Message { return p.StartFor(now, p.cfg.Duration) }

// StartFor is P1: it begins an attempt to own for d, under a fresh ballot, and gives up the one in progress. The
// attempt's deadline and, if a lease is held at this moment, its ballot as the base of a renewal are stored before
// any Prepare exists. It panics if Timing does not allow a lease of d.
func (p *Proposer) StartFor(now, d time.Duration) []Message {
	if !p.cfg.Timing.Allows(d) {
		panic(fmt.Sprintf("lease: attempt for %v at a lease of at most %v", d, p.cfg.Timing.MaxMaster))
	}
	if p.attempt.busy() {
		p.abandon(End{Reason: EndAbandoned})
	}
	p.attempt = attempt{phase: PhasePreparing, under: p.current, ballot: p.nextBallot(), duration: d, deadline: now + d}
	if h, ok := p.Held(now); ok {
		p.attempt.base = h.Ballot
	}
	return p.unanswered()
}

// Handle takes one reply. The caller must send the messages that it returns. Handle ignores a reply that is malformed,
// for another node, or not from a voter. Each rule itself drops replies of another
// ballot or phase (P2).
func (p *Proposer) Handle(now time.Duration, m Message) []Message {
	if m.To != p.cfg.Self.Node || !p.asks(m.From) || m.Check() != nil {
		return nil
	}
	rejection := m.Kind == KindPrepareRejected || m.Kind == KindAcceptRejected
	if rejection {
		p.ContinueAbove(m.Promised)
	}
	switch {
	case !p.attempt.under.voters.Has(m.From):
	case m.Kind == KindPromise:
		return p.promise(now, m)
	case m.Kind == KindAccepted:
		p.own(now, m)
	case rejection:
		p.refuse(m)
	}
	return nil
}

// asks reports whether n is a voter, or was one when the attempt began.
func (p *Proposer) asks(n ballot.NodeID) bool {
	return p.attempt.under.voters.Has(n) || p.current.voters.Has(n)
}

// nextBallot is T4: no two ballots are equal, in one run because the counter rises, across runs because the
// incarnation differs.
func (p *Proposer) nextBallot() ballot.Ballot {
	p.counter++
	return ballot.New(p.counter, p.cfg.Self)
}

// ContinueAbove is T4's other half: the next ballot goes above a promise that a rejection has shown; the rejected
// attempt may be over by then. A caller that knows its own acceptor's promise says so before Start: an attempt below it
// would only be rejected.
func (p *Proposer) ContinueAbove(promised ballot.Ballot) {
	if promised.Counter <= MaxCounter {
		p.counter = max(p.counter, promised.Counter)
	}
}

// unanswered is the attempt's request, once for each voter that has not answered it.
func (p *Proposer) unanswered() []Message {
	m := Message{Kind: KindPrepare, From: p.cfg.Self.Node, Resource: MasterResource, Class: ClassMaster,
		Ballot: p.attempt.ballot, Membership: p.attempt.under.number}
	if p.attempt.phase != PhasePreparing {
		m.Kind, m.Owner, m.Duration = KindAccept, p.cfg.Self, p.attempt.duration
	}
	voters := p.attempt.under.voters
	out := make([]Message, 0, voters.Len())
	for i := range voters.Len() {
		m.To = voters.At(i)
		if !p.attempt.answered(m.To) {
			out = append(out, m)
		}
	}
	return out
}
