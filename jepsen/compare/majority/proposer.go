package majority

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

// ProposerConfig is fixed for a run.
type ProposerConfig struct {
	Self     ballot.Incarnation // a new one in every run: requests are named after it
	Duration time.Duration      // T
	Voters   quorum.Set         // the acceptors
	Timing   lease.Timing       // of the master's class
}

// End tells how an attempt ended.
type End uint8

// The ends.
const (
	EndNone    End = iota // no attempt has ended yet
	EndWon                // this node owns
	EndBlocked            // rejections leave no majority
	EndExpired            // the timer ended first
)

var endNames = [...]string{"none", "won", "blocked", "expired"}

// String names the end.
func (e End) String() string { return endNames[e] }

// Proposer asks for the lease. It holds no pointers: a copy is independent.
type Proposer struct {
	cfg      ProposerConfig
	counter  uint64
	busy     bool
	request  ballot.Ballot
	deadline time.Duration // of the attempt: reading of the elapsed clock
	votes    quorum.Set
	refused  quorum.Set
	held     time.Duration // deadline of the lease
	last     End
}

// NewProposer starts a proposer that owns nothing. The error says what is wrong with the configuration.
func NewProposer(c ProposerConfig) (*Proposer, error) {
	switch {
	case !isNode(c.Self.Node):
		return nil, fmt.Errorf("vote proposer: node id %d is not 1 to %d", c.Self.Node, ballot.MaxNodeID)
	case c.Voters.Len() == 0:
		return nil, fmt.Errorf("vote proposer: no voters")
	case !c.Timing.Allows(c.Duration):
		return nil, fmt.Errorf("%w: a vote for %v does not satisfy 0 < T ≤ M = %v", lease.ErrTiming, c.Duration,
			c.Timing.MaxMaster)
	}
	if err := c.Timing.Validate(); err != nil {
		return nil, err
	}
	return &Proposer{cfg: c}, nil
}

// Clone is an independent copy.
func (p *Proposer) Clone() *Proposer {
	c := *p
	return &c
}

// Start is V1: it gives up the attempt in progress and begins one under a new name. The timer of T starts here, before
// any Request exists. While the lease is held it does nothing: the acceptors that gave it would reject a new request
// like any other.
func (p *Proposer) Start(now time.Duration) []Message {
	if now < p.held {
		return nil
	}
	p.counter++
	p.busy, p.request, p.deadline = true, ballot.New(p.counter, p.cfg.Self), now+p.cfg.Duration
	p.votes, p.refused = quorum.Set{}, quorum.Set{}
	return p.unanswered()
}

// Handle takes one reply. It ignores what is malformed, for another node, not from a voter, or of another request.
func (p *Proposer) Handle(now time.Duration, m Message) {
	if !p.busy || m.To != p.cfg.Self.Node || !p.cfg.Voters.Has(m.From) || m.Check() != nil ||
		m.Request != p.request || p.votes.Has(m.From) || p.refused.Has(m.From) {
		return
	}
	switch m.Kind {
	case KindAccept:
		p.accepted(now, m)
	case KindReject:
		p.refused.Add(m.From)
		if p.cfg.Voters.Len()-p.refused.Len() < p.cfg.Voters.Need() {
			p.end(EndBlocked)
		}
	}
}

// accepted is V3: with the votes of a majority of distinct acceptors this node owns, until the timer ends that V1
// started.
func (p *Proposer) accepted(now time.Duration, m Message) {
	p.votes.Add(m.From)
	switch {
	case !quorum.Reached(p.cfg.Voters, p.votes):
	case now >= p.deadline:
		p.end(EndExpired)
	default:
		p.held = p.deadline
		p.end(EndWon)
	}
}

func (p *Proposer) end(e End) {
	p.busy, p.request, p.deadline, p.last = false, ballot.Ballot{}, 0, e
	p.votes, p.refused = quorum.Set{}, quorum.Set{}
}

// Resend is the attempt's Request once more, unchanged, to the acceptors that have not answered it. An attempt whose
// timer has ended ends.
func (p *Proposer) Resend(now time.Duration) []Message {
	if !p.busy {
		return nil
	}
	if now >= p.deadline {
		p.end(EndExpired)
		return nil
	}
	return p.unanswered()
}

func (p *Proposer) unanswered() []Message {
	m := Message{Kind: KindRequest, From: p.cfg.Self.Node, Request: p.request, Duration: p.cfg.Duration}
	out := make([]Message, 0, p.cfg.Voters.Len())
	for i := range p.cfg.Voters.Len() {
		if m.To = p.cfg.Voters.At(i); !p.votes.Has(m.To) && !p.refused.Has(m.To) {
			out = append(out, m)
		}
	}
	return out
}

// Held tells whether this node owns the lease at now, and until when: read from the stored deadline each time.
func (p *Proposer) Held(now time.Duration) (until time.Duration, ok bool) {
	if now < p.held {
		return p.held, true
	}
	return 0, false
}

// Busy tells whether an attempt is in progress, and Last how the one before it ended. One whose timer has ended stays
// until the next Start, Resend or majority; it can win nothing.
func (p *Proposer) Busy() bool { return p.busy }

// Last is how the last attempt ended.
func (p *Proposer) Last() End { return p.last }
