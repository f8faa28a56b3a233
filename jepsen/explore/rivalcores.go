package explore

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/jepsen/compare/flease"
	"tenure/jepsen/compare/majority"
	"tenure/lease"
)

// rivalMessage is a message of either core. Its text tells it from all others. A request has no addressee: it goes to
// all acceptors.
type rivalMessage struct {
	from, to ballot.NodeID
	body     fmt.Stringer
}

// rivalProposer is the proposer of either core.
type rivalProposer interface {
	clone() rivalProposer
	start(now time.Duration) (rivalMessage, bool)
	handle(now time.Duration, m rivalMessage) (rivalMessage, bool)
	appendState(buf []byte, now time.Duration) []byte
	standing(now time.Duration) rivalStanding
}

// rivalStanding is how things stand with a proposer.
type rivalStanding struct {
	held bool
	busy bool // an attempt is in progress, and it is not too late for it
	says string
}

// rivalAcceptor is the acceptor of either core. All are node 1 to themselves; who they are to others is said when they
// answer.
type rivalAcceptor interface {
	clone() rivalAcceptor
	handle(now time.Duration, m rivalMessage, self ballot.NodeID) (rivalMessage, bool)
	appendState(buf []byte, now time.Duration) []byte
	// vote names what the acceptor has given its vote for, in the majority vote; "" if it is empty.
	vote(now time.Duration) string
	says(now time.Duration) string
}

// bootProposer starts a run of a proposer that keeps silent until its clock reads so much.
func (c *RivalConfig) bootProposer(who, runs uint8, silent time.Duration) rivalProposer {
	id := firstProposer + ballot.NodeID(who)
	if c.Core == coreFlease {
		return fleaseProposer{checked(flease.NewProposer(c.flease(id, silent)))}
	}
	return voteProposer{checked(majority.NewProposer(majority.ProposerConfig{
		Self: ballot.Incarnation{Node: id, Restart: uint64(runs), Nonce: 1}, Duration: c.Lease,
		Voters: voters(maxAcceptors), Timing: c.timing(),
	}))}
}

// bootAcceptor starts a run of an acceptor.
func (c *RivalConfig) bootAcceptor(silent time.Duration) rivalAcceptor {
	if c.Core == coreFlease {
		return fleaseAcceptor{checked(flease.NewAcceptor(c.flease(1, silent)))}
	}
	return voteAcceptor{checked(majority.NewAcceptor(majority.AcceptorConfig{Self: 1, Timing: c.timing(),
		Silent: silent}))}
}

// wait returns how long a process keeps silent after a restart. A proposer of the vote need not.
func (c *RivalConfig) wait() time.Duration {
	if c.Core == coreFlease {
		return c.flease(1, 0).RestartWait()
	}
	return checked(c.timing().Quarantine())
}

func (c *RivalConfig) flease(self ballot.NodeID, silent time.Duration) flease.Config {
	return flease.Config{Self: self, Voters: voters(maxAcceptors), Lease: c.Lease, Skew: c.Skew, Silent: silent}
}

func (c *RivalConfig) timing() lease.Timing {
	return lease.Timing{MaxMaster: c.Lease, MaxUser: c.Lease}
}

func checked[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("explore: a checked configuration does not boot: %v", err))
	}
	return v
}

type fleaseProposer struct{ p *flease.Proposer }

func (x fleaseProposer) clone() rivalProposer { return fleaseProposer{x.p.Clone()} }

func (x fleaseProposer) start(now time.Duration) (rivalMessage, bool) {
	return fleaseRequest(x.p.Start(now))
}

func (x fleaseProposer) handle(now time.Duration, m rivalMessage) (rivalMessage, bool) {
	return fleaseRequest(x.p.Handle(now, m.body.(flease.Message)))
}

// fleaseRequest returns one request for what was sent to all acceptors.
func fleaseRequest(ms []flease.Message) (rivalMessage, bool) {
	if len(ms) == 0 {
		return rivalMessage{}, false
	}
	m := ms[0]
	m.To = 0
	return rivalMessage{m.From, 0, m}, true
}

func (x fleaseProposer) appendState(buf []byte, now time.Duration) []byte {
	return x.p.AppendState(buf, now)
}

func (x fleaseProposer) standing(now time.Duration) (s rivalStanding) {
	var l flease.Lease
	if l, s.held = x.p.Held(now); s.held {
		s.says = fmt.Sprintf(" OWNS until %v", l.Until)
	}
	a := x.p.Attempt()
	if a.Phase != flease.PhaseNone {
		s.busy = now < a.Until
		s.says += fmt.Sprintf(" %v %v", a.Phase, a.Ballot)
	}
	return s
}

type fleaseAcceptor struct{ a *flease.Acceptor }

func (x fleaseAcceptor) clone() rivalAcceptor { return fleaseAcceptor{x.a.Clone()} }

func (x fleaseAcceptor) handle(now time.Duration, m rivalMessage, self ballot.NodeID) (rivalMessage, bool) {
	b := m.body.(flease.Message)
	b.To = 1
	r, ok := x.a.Handle(now, b)
	r.From = self
	return rivalMessage{self, r.To, r}, ok
}

func (x fleaseAcceptor) appendState(buf []byte, now time.Duration) []byte {
	return x.a.AppendState(buf, now)
}

func (x fleaseAcceptor) vote(time.Duration) string { return "" }

func (x fleaseAcceptor) says(now time.Duration) string {
	l, read, written := x.a.Register()
	s := ""
	if q := x.a.SilentFor(now); q > 0 {
		s += fmt.Sprintf(" silent %v", q)
	}
	if !read.IsZero() {
		s += fmt.Sprintf(" read %v", read)
	}
	if !written.IsZero() {
		s += fmt.Sprintf(" has %d until %v under %v", l.Owner, l.Until, written)
	}
	return s
}

type voteProposer struct{ p *majority.Proposer }

func (x voteProposer) clone() rivalProposer { return voteProposer{x.p.Clone()} }

func (x voteProposer) start(now time.Duration) (rivalMessage, bool) {
	ms := x.p.Start(now)
	if len(ms) == 0 {
		return rivalMessage{}, false
	}
	m := ms[0]
	m.To = 0
	return rivalMessage{m.From, 0, m}, true
}

func (x voteProposer) handle(now time.Duration, m rivalMessage) (rivalMessage, bool) {
	x.p.Handle(now, m.body.(majority.Message))
	return rivalMessage{}, false
}

func (x voteProposer) appendState(buf []byte, now time.Duration) []byte {
	return x.p.AppendState(buf, now)
}

func (x voteProposer) standing(now time.Duration) (s rivalStanding) {
	until, held := x.p.Held(now)
	if s.held = held; held {
		s.says = fmt.Sprintf(" OWNS for %v", until-now)
	}
	if s.busy = x.p.Busy(); s.busy {
		s.says += " asks"
	}
	return s
}

type voteAcceptor struct{ a *majority.Acceptor }

func (x voteAcceptor) clone() rivalAcceptor { return voteAcceptor{x.a.Clone()} }

func (x voteAcceptor) handle(now time.Duration, m rivalMessage, self ballot.NodeID) (rivalMessage, bool) {
	b := m.body.(majority.Message)
	b.To = 1
	r, ok := x.a.Handle(now, b)
	r.From = self
	return rivalMessage{self, r.To, r}, ok
}

func (x voteAcceptor) appendState(buf []byte, now time.Duration) []byte {
	return x.a.AppendState(buf, now)
}

func (x voteAcceptor) vote(now time.Duration) string {
	if r, _, ok := x.a.Vote(now); ok {
		return r.String()
	}
	return ""
}

func (x voteAcceptor) says(now time.Duration) string {
	if q := x.a.SilentFor(now); q > 0 {
		return fmt.Sprintf(" silent %v", q)
	}
	if r, left, ok := x.a.Vote(now); ok {
		return fmt.Sprintf(" voted for %v, for %v", r, left)
	}
	return ""
}

// saidBy returns a reply as another acceptor would have given it.
func (m rivalMessage) saidBy(self ballot.NodeID) rivalMessage {
	switch b := m.body.(type) {
	case flease.Message:
		b.From = self
		m.body = b
	case majority.Message:
		b.From = self
		m.body = b
	}
	m.from = self
	return m
}
