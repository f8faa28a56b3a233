package majority

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
)

// AcceptorConfig is fixed for a run.
type AcceptorConfig struct {
	Self   ballot.NodeID
	Timing lease.Timing // of the master's class: M, ρ and margin
	// Silent is the reading of the elapsed clock before which this run keeps silent (V4): the reading at its start plus
	// Timing.Quarantine, or 0 in the first run.
	Silent time.Duration
}

// Acceptor has one vote, in memory only. It holds no pointers: a copy is independent.
type Acceptor struct {
	cfg   AcceptorConfig
	vote  ballot.Ballot // the request that has it
	until time.Duration // reading of the elapsed clock; then the state is empty
}

// NewAcceptor starts an acceptor whose state is empty. The error says what is wrong with the configuration.
func NewAcceptor(c AcceptorConfig) (*Acceptor, error) {
	if !isNode(c.Self) {
		return nil, fmt.Errorf("vote acceptor: node id %d is not 1 to %d", c.Self, ballot.MaxNodeID)
	}
	if err := c.Timing.Validate(); err != nil {
		return nil, err
	}
	return &Acceptor{cfg: c}, nil
}

// Clone is an independent copy.
func (a *Acceptor) Clone() *Acceptor {
	c := *a
	return &c
}

// Handle is V2: one message that is addressed to this acceptor. If its state is empty it votes, for the time that
// covers T on the proposer's clock; otherwise it rejects, and repeats its answer to the request that has its vote.
// There is no reply to what is malformed or not a Request, and to any in the silence after a restart.
func (a *Acceptor) Handle(now time.Duration, m Message) (reply Message, ok bool) {
	if m.To != a.cfg.Self || m.Kind != KindRequest || m.Check() != nil || a.silent(now) {
		return Message{}, false
	}
	reply = Message{Kind: KindAccept, From: a.cfg.Self, To: m.From, Request: m.Request}
	switch {
	case now < a.until && a.vote == m.Request:
	case now < a.until || !a.cfg.Timing.Allows(m.Duration):
		reply.Kind = KindReject
	default:
		span, err := a.cfg.Timing.Exclusion(m.Duration)
		if err != nil {
			panic(fmt.Sprintf("majority: an allowed T of %v has no time at the acceptor: %v", m.Duration, err))
		}
		a.vote, a.until = m.Request, now+span
	}
	return reply, true
}

// silent is V4: whether a vote that was given before this node lost its memory may still count.
func (a *Acceptor) silent(now time.Duration) bool { return now < a.cfg.Silent }

// SilentFor is how long this acceptor still keeps silent, 0 if it answers.
func (a *Acceptor) SilentFor(now time.Duration) time.Duration { return max(0, a.cfg.Silent-now) }

// Vote is the request that has the vote, and for how long; not ok if the state is empty. For tests and traces.
func (a *Acceptor) Vote(now time.Duration) (request ballot.Ballot, left time.Duration, ok bool) {
	if now >= a.until {
		return ballot.Ballot{}, 0, false
	}
	return a.vote, a.until - now, true
}
