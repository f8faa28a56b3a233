package elector

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/jitter"
	"tenure/internal/quorum"
	"tenure/lease"
)

// Config is what a run starts with.
type Config struct {
	Self     ballot.Incarnation
	Voters   quorum.Set // until an event brings another membership
	Timing   lease.Timing
	Duration time.Duration // D_P of the master lease
	Acceptor lease.AcceptorConfig
	Seed     uint64 // of the random waits
	// Membership is the number of the durable membership, which has the Voters; 0 counts as 1. That of the Acceptor is
	// set by it.
	Membership uint64
}

// Part is the elector: this node's proposer and acceptor of the resource "master", and the policy of its attempts.
type Part struct {
	cfg      Config
	acceptor *lease.Acceptor
	proposer *lease.Proposer
	random   jitter.Source

	tryAt    time.Duration // when not the owner: do not start before
	renewAt  time.Duration // when the owner: start the next renewal
	resendAt time.Duration
	pace     pace
	trying   bool
	retired  bool // never tries again: the node is stopping
	barred   bool // starts no fresh attempt (M6)
	hangs    bool // the log hangs, as of view
	hung     uint64
	view     View
	// Of a hand-over that is under way: until then this node is the one that should try, or should let another try.
	favoured time.Duration
	standOff time.Duration
	outdated time.Duration // no fresh attempt before: see outdatedPause
	out      []lease.Message
	notes    lease.Notes
	tenures  tenures
}

// State is what the elector publishes.
type State struct {
	Tenure   uint64 // 0: not held
	Deadline time.Duration
	Duration time.Duration // D_P of the attempt that won it last
	Hung     uint64        // tenure that was let go of last because the log hung (M6); 0: none
}

// New returns the elector of a run that begins at now. It first tries after a short wait by rank.
func New(cfg Config, now time.Duration) (*Part, error) {
	cfg.Acceptor.Membership = cfg.Membership
	acceptor, err := lease.NewAcceptor(cfg.Acceptor)
	if err != nil {
		return nil, err
	}
	proposer, err := lease.NewProposer(lease.ProposerConfig{
		Self:     cfg.Self,
		Duration: cfg.Duration, Voters: cfg.Voters, Timing: cfg.Timing, Membership: cfg.Membership,
	})
	if err != nil {
		return nil, err
	}
	e := &Part{cfg: cfg, acceptor: acceptor, proposer: proposer, random: jitter.New(cfg.Seed)}
	e.tenures = tenures{self: cfg.Self, voters: cfg.Voters}
	if span, err := cfg.Timing.Exclusion(cfg.Duration); err == nil {
		e.tenures.slack = span - cfg.Duration
	}
	e.tryAt = now + e.rank(0)
	return e, nil
}

// handle takes one lease message, from this node or another.
func (e *Part) handle(now time.Duration, m lease.Message) {
	e.tenures.step(now, e.proposer)
	e.deliver(now, m)
	e.settle(now)
	e.stepped(now)
}

// tick does what is due at now. Call it at nextWake, and at least every tenth of the lease time.
func (e *Part) tick(now time.Duration) {
	e.tenures.step(now, e.proposer)
	e.doDue(now)
	e.stepped(now)
}

// stepped ends a step for the bookkeeping of tenures.
func (e *Part) stepped(now time.Duration) {
	e.tenures.watch(now, e.proposer)
	e.tenures.due = e.nextWake(now)
}

func (e *Part) doDue(now time.Duration) {
	_, held := e.proposer.Held(now)
	if (e.trying || held) && now >= e.resendAt {
		e.resendAt = now + e.resendEvery()
		e.route(now, e.proposer.Resend(now))
	}
	e.settle(now)
	if e.retired || e.trying {
		return
	}
	if _, held := e.proposer.Held(now); held { // what was resent to the own acceptor may have won
		if now >= e.renewAt && e.votes() {
			e.start(now)
		}
		return
	}
	if now < max(e.tryAt, e.outdated) || e.barred || !e.votes() || e.waitForOther(now) {
		return
	}
	e.start(now)
}

// nextWake is the next time at which tick has something to do.
func (e *Part) nextWake(now time.Duration) time.Duration {
	next := max(e.tryAt, e.outdated)
	_, held := e.proposer.Held(now)
	switch {
	case !e.votes(), e.barred && !held:
		next = now + e.cfg.Duration/10
	case held:
		next = e.renewAt
	}
	if e.trying {
		next = e.resendAt
	}
	return min(max(next, now), now+e.cfg.Duration/10)
}

// State is what to publish at now.
func (e *Part) State(now time.Duration) State {
	h, held := e.proposer.Held(now)
	if !held {
		return State{Hung: e.hung}
	}
	return State{Tenure: h.Number, Deadline: h.Deadline, Duration: h.Duration, Hung: e.hung}
}

// drain takes out the messages to send to other nodes.
func (e *Part) drain() []lease.Message {
	out := e.out
	e.out = nil
	return out
}

// letGo gives the lease up (P6) if it is still held as this tenure, and reports whether it was. The log part has
// decided so (M6), or finds has. The others may try first.
func (e *Part) letGo(now time.Duration, g LetGo) bool {
	h, held := e.proposer.Held(now)
	if !held || h.Number != g.Tenure {
		return false
	}
	if g.Reason == ReasonHung {
		e.hung = g.Tenure
	}
	e.release(now, e.cfg.Duration/4, g.cause())
	return true
}

// release gives the lease up (P6). Nobody acts as owner when the Release leaves, because the round publishes the end of
// the tenure before it sends. why must be a release (Cause.Released). With CauseStopping the node never tries again,
// otherwise not for standBack.
func (e *Part) release(now, standBack time.Duration, why Cause) {
	e.tenures.step(now, e.proposer)
	e.tenures.released(now, why)
	e.trying = false
	e.pace.released()
	e.retired = e.retired || why == CauseStopping
	e.tryAt = now + standBack
	e.route(now, e.proposer.Release(now))
}

// Gap tells what the runner has measured since the last step. It comes before the step, if at all.
func (e *Part) Gap(g Gap) { e.tenures.gap = g }

// TakeTenureChanges drains the beginnings and ends of this node's tenures with their causes, oldest first. Of many that
// are never taken the newest are kept.
func (e *Part) TakeTenureChanges() []TenureChange { return e.tenures.drain() }

// AppendNoted appends the counters of this incarnation's ballots that its guardian would have to release if the process
// died now (P7). The guardian must be able to read them before a message that the round sends leaves.
func (e *Part) AppendNoted(buf []uint64, now time.Duration) []uint64 {
	return e.notes.AppendCounters(buf, now)
}

// crashReleased takes a guardian's report that its process, owner, has died, and the counters of the ballots that it
// had out (P7). It is a Release like any other, and a hint to try. True: a live record was cleared here.
func (e *Part) crashReleased(now time.Duration, owner ballot.Incarnation, counters []uint64) bool {
	if owner.Node == e.cfg.Self.Node {
		return false
	}
	e.tenures.step(now, e.proposer)
	_, before := e.acceptor.Live(now)
	for _, m := range lease.CrashReleases(owner, e.cfg.Self.Node, counters) {
		e.tenures.gone(now, m, EndingCrashed)
		e.deliver(now, m)
	}
	e.settle(now)
	_, after := e.acceptor.Live(now)
	return before && !after
}

// nudge tells that the master hands over and would like this node to try: it does so when the Release comes. A Release
// that has not come within a lease time is of something else: the hand-over was given up.
func (e *Part) nudge(now time.Duration) { e.favoured = now + e.cfg.Duration }

// standBack tells that the master hands over to somebody else: this node lets that one try first, for d.
// A try that was due before is put off too.
func (e *Part) standBack(now, d time.Duration) {
	e.standOff = now + d
	e.tryAt = max(e.tryAt, e.standOff)
}

// QuarantineLeft is how long this node's acceptor stays silent yet (A4).
func (e *Part) QuarantineLeft(now time.Duration) time.Duration {
	return e.acceptor.QuarantineLeft(now)
}

// Owner is the owner of "master" as the own acceptor records it, and how long it excludes others: a hint (L1).
func (e *Part) Owner(now time.Duration) (ballot.NodeID, time.Duration) {
	r, live := e.acceptor.Live(now)
	if !live {
		return 0, 0
	}
	return r.Owner.Node, r.Left
}

func (e *Part) start(now time.Duration) {
	e.trying = true
	e.resendAt = now + e.resendEvery()
	e.tenures.tried()
	e.proposer.ContinueAbove(e.acceptor.Promised())
	_, held := e.proposer.Held(now)
	e.route(now, e.proposer.StartFor(now, e.pace.duration(e.cfg.Duration, held, e.renewAt)))
	e.settle(now)
}

// waitForOther puts the next try behind a live lease of somebody else that the own acceptor knows: an attempt
// against it would only be blocked.
func (e *Part) waitForOther(now time.Duration) bool {
	r, live := e.acceptor.Live(now)
	if !live || r.Owner == e.cfg.Self {
		return false
	}
	e.tryAt = now + r.Left + e.rank(r.Owner.Node)
	return true
}

// outdatedPause is how many lease times a node makes no attempt after one was refused for a newer membership, unless it
// learns that membership first. It learns it from a master, and the master may need this node's promise. The node's own
// attempts can hardly succeed, but each takes its promise away from the attempts of others. The others wait for their
// deadline before they ask with a higher ballot. This node is refused at once, so it would always be ahead of them. Or
// its attempts wait for a voter that is down, and two such nodes are ahead by turns.
const outdatedPause = 4

// settle notices what became of the attempt under way: won, or given up and to be tried again after P5's wait.
func (e *Part) settle(now time.Duration) {
	if !e.trying || e.proposer.Attempt().Phase != lease.PhaseNone {
		return
	}
	e.trying = false
	last := e.proposer.Attempt().Last
	e.pace.ended(now, e.cfg.Duration, last.Reason == lease.EndWon)
	if last.Reason == lease.EndWon {
		e.tenures.watch(now, e.proposer)
		e.renewAt = e.proposer.RenewAt()
		return
	}
	wait := e.proposer.RetryAfter(now, e.random.Next())
	if _, held := e.proposer.Held(now); !held {
		e.route(now, e.proposer.Release(now)) // what the attempt left at acceptors would block everybody, this node too
	}
	if last.Membership > e.proposer.Membership() {
		e.outdated = now + outdatedPause*e.cfg.Duration
	}
	if last.Reason == lease.EndBlocked && last.Blocker.Left > 0 {
		wait += e.rank(last.Blocker.Owner.Node)
	}
	e.tryAt, e.renewAt = now+wait, now+wait
}

// deliver hands m to the part of this node that it is for.
func (e *Part) deliver(now time.Duration, m lease.Message) {
	switch m.Kind {
	case lease.KindPrepare, lease.KindAccept, lease.KindRelease:
		if e.foreign(m) || m.Check() != nil {
			return
		}
		reply, ok := e.acceptor.Handle(now, m)
		if m.Kind == lease.KindRelease {
			e.tenures.gone(now, m, EndingReleased)
			e.heardRelease(now, m)
		}
		if r, live := e.acceptor.Live(now); live {
			e.tenures.recorded(r, now, true)
		}
		if ok {
			e.route(now, []lease.Message{reply})
		}
	default:
		attempt := e.proposer.Attempt()
		out := e.proposer.Handle(now, m)
		e.tenures.answered(now, m, attempt, e.proposer.Attempt().Phase)
		e.route(now, out)
	}
}

// foreign reports whether m asks for a vote and comes from a node that is no voter by the membership in force here. A
// sender with a newer membership waits until this node has it too. A sender with an older one is told that it is
// outdated.
func (e *Part) foreign(m lease.Message) bool {
	asks := m.Kind == lease.KindPrepare || m.Kind == lease.KindAccept
	return asks && !e.cfg.Voters.Has(m.From) && max(m.Membership, 1) >= e.acceptor.Membership()
}

// heardRelease takes a Release as the hint that it also is: the others may try, in their order after the old owner.
func (e *Part) heardRelease(now time.Duration, m lease.Message) {
	if _, live := e.acceptor.Live(now); live || m.Owner == e.cfg.Self {
		return
	}
	at := max(now+e.rank(m.Owner.Node), e.standOff)
	if now < e.favoured {
		at, e.favoured = now, 0
	}
	e.tryAt = min(e.tryAt, at)
}

// route delivers messages for this node itself at once and queues the others. An Accept that is queued when its ballot
// is released does not leave. Its receiver may no longer be a voter and so miss the Release, and the guardian no longer
// knows the ballot (P7).
func (e *Part) route(now time.Duration, ms []lease.Message) {
	e.notes.Sent(now, e.cfg.Timing, ms)
	for _, m := range ms {
		if m.Kind == lease.KindRelease {
			e.out = slices.DeleteFunc(e.out, func(x lease.Message) bool {
				return x.Kind == lease.KindAccept && x.Ballot.Counter <= m.Ballot.Counter
			})
		}
		if m.To == e.cfg.Self.Node {
			e.deliver(now, m)
		} else {
			e.out = append(e.out, m)
		}
	}
}

// The policy's shares of the lease time.
const (
	resendPart = 12 // resend an unanswered message
	rankPart   = 16 // distance between the first tries of two nodes
)

func (e *Part) resendEvery() time.Duration {
	return max(e.cfg.Duration/resendPart, time.Millisecond)
}

// rank is this node's wait after the end of a lease of the node after. The next voter in the ring goes first, the
// others follow at a distance, so they seldom duel.
func (e *Part) rank(after ballot.NodeID) time.Duration {
	n, own, old := e.cfg.Voters.Len(), 0, -1
	for i := range n {
		switch e.cfg.Voters.At(i) {
		case e.cfg.Self.Node:
			own = i
		case after:
			old = i
		}
	}
	if after == e.cfg.Self.Node {
		old = own
	}
	step := e.cfg.Duration / rankPart
	place := (own - old - 1 + n) % n
	return time.Duration(place)*step + e.random.Below(step/4)
}
