package lease

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
)

// AcceptorConfig is fixed for a run.
type AcceptorConfig struct {
	Self        ballot.NodeID
	Timing      Timing
	SilentUntil time.Duration // reading of the elapsed clock before which A4 keeps silent; see Quarantine.Deadline
	Membership  uint64        // number of the membership that is durable at the start of the run; 0 counts as 1
}

// Validate refuses a configuration under which no acceptor may run.
func (c AcceptorConfig) Validate() error {
	if !isNode(c.Self) {
		return fmt.Errorf("lease acceptor: node id %d is not 1 to %d", c.Self, ballot.MaxNodeID)
	}
	return c.Timing.Validate()
}

// Acceptor remembers the promise and the live lease of the master resource, in memory only; A4 makes up for what it
// forgets.
type Acceptor struct {
	cfg        AcceptorConfig
	master     record
	membership uint64        // the number in force
	older      time.Duration // end of the exclusion of what was accepted before it was
}

// NewAcceptor starts an acceptor that remembers nothing. The error says what is wrong with the configuration.
func NewAcceptor(c AcceptorConfig) (*Acceptor, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Acceptor{cfg: c, membership: stamp(c.Membership)}, nil
}

// Clone is an independent copy.
func (a *Acceptor) Clone() *Acceptor {
	c := *a
	return &c
}

// Handle takes one message that is addressed to this acceptor. It returns the reply, if there is one: none to a
// Release, to a message that is not for an acceptor or malformed, and to any in the silence after a restart.
func (a *Acceptor) Handle(now time.Duration, m Message) (reply Message, ok bool) {
	if m.To != a.cfg.Self || m.Check() != nil || a.silent(now) {
		return Message{}, false
	}
	switch m.Kind {
	case KindPrepare:
		if a.outdated(m) {
			return a.reply(now, KindPrepareRejected, m, &a.master), true
		}
		return a.prepare(now, m), true
	case KindAccept:
		if a.outdated(m) {
			return a.reply(now, KindAcceptRejected, m, &a.master), true
		}
		return a.accept(now, m), true
	case KindRelease:
		a.release(m)
	}
	return Message{}, false
}

// prepare is A1. A promise reports the live lease of any owner; an expired one is none. A refusal carries the promised
// ballot, for liveness only.
func (a *Acceptor) prepare(now time.Duration, m Message) Message {
	r := &a.master
	if m.Ballot.Less(r.promised) {
		return a.reply(now, KindPrepareRejected, m, r)
	}
	r.promised = m.Ballot
	return a.reply(now, KindPromise, m, r)
}

// accept is A2. It never replaces a live lease of another owner, under whatever ballot, and never shortens an
// exclusion. Raising promised keeps it at or above the ballot of a live record: otherwise an Accept of the same owner's
// earlier attempt could take the record back to a ballot whose Release is due.
func (a *Acceptor) accept(now time.Duration, m Message) Message {
	r := &a.master
	if m.Ballot.Less(r.promised) || r.blocks(now, m.Owner) || !a.cfg.Timing.Allows(m.Duration) {
		return a.reply(now, KindAcceptRejected, m, r)
	}
	span, err := a.cfg.Timing.Exclusion(m.Duration)
	if err != nil {
		panic(fmt.Sprintf("lease: an allowed D_P of %v has no D_A: %v", m.Duration, err))
	}
	r.promised = m.Ballot
	r.owner, r.ballot = m.Owner, m.Ballot
	r.until = max(r.until, now+span)
	return a.reply(now, KindAccepted, m, r)
}

// release is A3. Owner and ballot must both be those of the record; promised stays as it is.
func (a *Acceptor) release(m Message) {
	r := &a.master
	if r.owner == m.Owner && r.ballot == m.Ballot {
		r.owner, r.ballot, r.until = ballot.Incarnation{}, ballot.Ballot{}, 0
		a.older = 0 // the same owner's: while it lasts the record is replaced by no other's
	}
}

// silent is A4: it reports whether a lease that this node accepted before it lost its memory may still bind it.
// Messages that arrive meanwhile are dropped, not kept.
func (a *Acceptor) silent(now time.Duration) bool { return now < a.cfg.SilentUntil }

// QuarantineLeft is how long this acceptor still stays silent, 0 if it answers.
func (a *Acceptor) QuarantineLeft(now time.Duration) time.Duration {
	return max(0, a.cfg.SilentUntil-now)
}

// Record is a live lease as an acceptor knows it.
type Record struct {
	Owner  ballot.Incarnation
	Ballot ballot.Ballot
	Left   time.Duration // of the exclusion, on this node's clock; the ownership itself is over earlier
}

// Live is L1: what this acceptor knows of the lease's owner. It is a hint about whom to ask and when to try. A record
// of this node, or no record, proves nothing: only Proposer.Held reports ownership, and only to the owner.
func (a *Acceptor) Live(now time.Duration) (Record, bool) {
	r := &a.master
	if !r.live(now) {
		return Record{}, false
	}
	return Record{Owner: r.owner, Ballot: r.ballot, Left: r.until - now}, true
}

// Promised is the highest ballot promised in this run; zero if none was.
func (a *Acceptor) Promised() ballot.Ballot { return a.master.promised }

// reply answers m.
func (a *Acceptor) reply(now time.Duration, k Kind, m Message, r *record) Message {
	out := Message{Kind: k, From: a.cfg.Self, To: m.From, Resource: m.Resource, Class: m.Class, Ballot: m.Ballot}
	if k == KindAccepted {
		return out
	}
	if k != KindPromise {
		out.Promised, out.Membership = r.promised, a.membership
	}
	if r.live(now) {
		out.Live, out.LiveOwner, out.LiveBallot, out.LiveLeft = true, r.owner, r.ballot, r.until-now
	}
	return out
}
