package flease

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Phase tells how far an attempt is.
type Phase uint8

// The phases of an attempt.
const (
	PhaseNone    Phase = iota // none in progress
	PhaseReading              // READ is out
	PhaseWriting              // WRITE is out
)

var phaseNames = [...]string{"none", "reading", "writing"}

// String names the phase.
func (p Phase) String() string { return phaseNames[p] }

// End tells how an attempt ended.
type End uint8

// The ends.
const (
	EndNone     End = iota // no attempt has ended yet
	EndWon                 // this process owns
	EndOther               // the lease of another process was decided: see Known
	EndWaiting             // the lease has run out here, and not for ε everywhere: try again at WaitsUntil
	EndRejected            // nacks leave no quorum
	EndExpired             // the expiry that the attempt began with has passed
)

var endNames = [...]string{"none", "won", "another's", "waiting", "rejected", "expired"}

// String names the end.
func (e End) String() string { return endNames[e] }

// attempt is one GetLease(k). The zero value is none.
type attempt struct {
	phase   Phase
	ballot  Ballot
	until   time.Duration // expiry of a lease that comes of it: the reading at its start plus t_max
	votes   quorum.Set    // acks of this phase
	refused quorum.Set    // nacks of this phase
	written Ballot        // reading: the highest that an ack has shown
	lease   Lease         // reading: what was written under it; writing: what is to be written
}

func (a *attempt) answered(n ballot.NodeID) bool { return a.votes.Has(n) || a.refused.Has(n) }

// Proposer calls GetLease for one process. It holds no pointers: a copy is independent.
type Proposer struct {
	cfg     Config
	drawn   time.Duration // time of the last ballot
	seen    time.Duration // time of the highest ballot that a nack has shown and that may be followed
	attempt attempt
	held    Lease
	known   Lease
	waits   time.Duration
	last    End
}

// NewProposer starts a proposer that owns nothing. The error says what is wrong with the configuration.
func NewProposer(c Config) (*Proposer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Proposer{cfg: c, drawn: -1, seen: -1}, nil
}

// Clone is an independent copy.
func (p *Proposer) Clone() *Proposer {
	c := *p
	return &c
}

// Start is F1, the call of GetLease: it gives up the attempt in progress and begins one under a fresh ballot. The
// expiry of the lease is fixed here, before any READ exists, and not when the reads are in: until then a process may
// promise, crash, wait and come back. It returns nothing in the silence after a restart, and when no fresh ballot can
// be had at this reading of the clock (F8).
func (p *Proposer) Start(now time.Duration) []Message {
	if p.cfg.silent(now) {
		return nil
	}
	k, ok := p.draw(now)
	if !ok {
		return nil
	}
	p.attempt = attempt{phase: PhaseReading, ballot: k, until: now + p.cfg.Lease}
	return p.unanswered()
}

// draw is F8: a fresh ballot is the time, or just above the last one or the one that a nack has shown. It is never
// ahead of the clock by more than ε, also after a nack that shows a higher time. So the ballots of an earlier run are
// below it when F7's silence is over.
func (p *Proposer) draw(now time.Duration) (Ballot, bool) {
	t := max(now, p.drawn+1, p.seen+1)
	if t > now+p.cfg.Skew {
		return Ballot{}, false
	}
	p.drawn = t
	return Ballot{Time: t, Node: p.cfg.Self}, true
}

// Handle takes one reply. Whatever it returns must be sent. It ignores what is malformed, for another process, not from
// a voter, or of another ballot or phase.
func (p *Proposer) Handle(now time.Duration, m Message) []Message {
	a := &p.attempt
	if m.To != p.cfg.Self || !p.cfg.Voters.Has(m.From) || m.Check() != nil {
		return nil
	}
	if (m.Kind == KindReadNack || m.Kind == KindWriteNack) && m.Seen.Time < now+p.cfg.Skew {
		p.seen = max(p.seen, m.Seen.Time)
	}
	if m.Ballot != a.ballot || a.answered(m.From) {
		return nil
	}
	switch {
	case m.Kind == KindReadAck && a.phase == PhaseReading:
		return p.readAck(now, m)
	case m.Kind == KindWriteAck && a.phase == PhaseWriting:
		p.writeAck(now, m)
	case m.Kind == KindReadNack && a.phase == PhaseReading, m.Kind == KindWriteNack && a.phase == PhaseWriting:
		p.refuse(m)
	}
	return nil
}

// refuse ends the attempt when the processes that are left cannot make a quorum. The paper ends it at the first nack
// among the replies of a majority; one nack might as well have been lost, so safety cannot depend on it.
func (p *Proposer) refuse(m Message) {
	a := &p.attempt
	a.refused.Add(m.From)
	if p.cfg.Voters.Len()-a.refused.Len() < p.cfg.Voters.Need() {
		p.end(EndRejected)
	}
}

func (p *Proposer) end(e End) { p.attempt, p.last = attempt{}, e }

// Resend is the attempt's READ or WRITE once more, unchanged, to the processes that have not answered it. An attempt
// whose expiry has passed ends instead.
func (p *Proposer) Resend(now time.Duration) []Message {
	if p.attempt.phase == PhaseNone {
		return nil
	}
	if now >= p.attempt.until {
		p.end(EndExpired)
		return nil
	}
	return p.unanswered()
}

func (p *Proposer) unanswered() []Message {
	a := &p.attempt
	m := Message{Kind: KindRead, From: p.cfg.Self, Ballot: a.ballot}
	if a.phase == PhaseWriting {
		m.Kind, m.Lease = KindWrite, a.lease
	}
	out := make([]Message, 0, p.cfg.Voters.Len())
	for i := range p.cfg.Voters.Len() {
		if m.To = p.cfg.Voters.At(i); !a.answered(m.To) {
			out = append(out, m)
		}
	}
	return out
}
