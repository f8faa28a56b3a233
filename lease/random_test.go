package lease

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// storm is a cluster under a random schedule: a network that loses, repeats and reorders, clocks that err by up to ρ in
// rate and arbitrarily in reading, and crashes of everybody. It checks after every step that nobody shares an
// ownership.
type storm struct {
	timing    Timing
	real      time.Duration
	nodes     []*stormNode
	proposers []*stormProposer
	network   []Message
	wins      int
}

// stormNode is an acceptor with its clock and its start record.
type stormNode struct {
	clock    stormClock
	acceptor *Acceptor
	plan     Quarantine
	start    time.Duration
	record   time.Duration
}

// stormProposer is a proposer with its clock and restart counter.
type stormProposer struct {
	clock    stormClock
	proposer *Proposer
	self     ballot.Incarnation
	held     Tenure
	gap      bool // somebody else has owned since the tenure held was seen
}

type stormClock struct {
	offset time.Duration
	ppm    int64 // rate, in millionths of real time
}

func (c stormClock) read(real time.Duration) time.Duration {
	return c.offset + time.Duration(int64(real)*c.ppm/million)
}

func newStorm(t *rapid.T) *storm {
	s := &storm{}
	s.timing = Timing{MaxMaster: 8 * ms, MaxUser: 8 * ms,
		DriftPPM: rapid.SampledFrom([]int64{0, 200_000}).Draw(t, "drift")}
	clock := func(name string) stormClock {
		return stormClock{
			offset: time.Duration(rapid.Int64Range(0, 50).Draw(t, name+".offset")) * ms,
			ppm:    million + rapid.SampledFrom([]int64{-1, 0, 1}).Draw(t, name+".rate")*s.timing.DriftPPM,
		}
	}
	for range 3 {
		s.nodes = append(s.nodes, &stormNode{clock: clock("acceptor")})
		s.bootAcceptor(len(s.nodes)-1, 8*ms, true)
	}
	for i := range rapid.IntRange(2, 3).Draw(t, "proposers") {
		s.proposers = append(s.proposers, &stormProposer{clock: clock("proposer"),
			self: ballot.Incarnation{Node: ballot.NodeID(i + 1)}})
		s.bootProposer(i)
	}
	return s
}

// bootAcceptor restarts an acceptor under a longest lease of m, which no proposer exceeds from then on.
func (s *storm) bootAcceptor(i int, m time.Duration, bootstrap bool) {
	n := s.nodes[i]
	n.start = n.clock.read(s.real)
	timing := s.timing
	timing.MaxMaster, timing.MaxUser = m, m
	n.plan = must(PlanQuarantine(n.record, timing, bootstrap))
	n.record = n.plan.AtStart
	n.acceptor = must(NewAcceptor(AcceptorConfig{
		Self: ballot.NodeID(i + 1), Timing: timing, SilentUntil: n.plan.Deadline(n.start),
	}))
}

func (s *storm) bootProposer(i int) {
	sp := s.proposers[i]
	sp.self.Restart++
	sp.proposer = must(NewProposer(ProposerConfig{
		Self: sp.self, Duration: 8 * ms, Voters: quorum.Of(1, 2, 3), Timing: s.timing,
	}))
	sp.held = Tenure{}
}

// events are drawn evenly from here.
var events = []string{
	"start", "start", "start", "pass", "pass", "pass", "pass", "resend", "release", "abandon", "crash",
	"deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver",
}

// step is one random event.
func (s *storm) step(t *rapid.T) {
	i := rapid.SampledFrom([]int{0, 1, 2}[:len(s.proposers)]).Draw(t, "proposer")
	sp := s.proposers[i]
	now := sp.clock.read(s.real)
	switch rapid.SampledFrom(events).Draw(t, "event") {
	case "start":
		d := rapid.SampledFrom([]time.Duration{0, 0, 2 * ms, 3 * ms, 8 * ms, 8 * ms}).Draw(t, "d")
		if d == 0 {
			d = 3 * ms
		} else if sp.proposer.Attempt().Phase != PhaseNone {
			break // mostly, an attempt is left to run
		}
		s.network = append(s.network, sp.proposer.StartFor(now, d)...)
	case "resend":
		s.network = append(s.network, sp.proposer.Resend(now)...)
	case "release":
		s.network = append(s.network, sp.proposer.Release(now)...)
	case "abandon":
		sp.proposer.Abandon()
	case "crash":
		if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "crash") {
			s.crash(t, i)
		}
	case "pass":
		s.real += rapid.SampledFrom([]time.Duration{1, ms / 4, ms / 2, ms, ms, 2 * ms}).Draw(t, "pass")
	case "deliver":
		for range rapid.SampledFrom([]int{1, 1, 2, 4, 8}).Draw(t, "burst") {
			s.deliver(t)
			s.check(t)
		}
	}
	for _, n := range s.nodes {
		n.record = n.plan.Record(n.clock.read(s.real) - n.start)
	}
}

func (s *storm) crash(t *rapid.T, proposer int) {
	if rapid.Bool().Draw(t, "crash a proposer") {
		s.bootProposer(proposer)
		return
	}
	i := rapid.IntRange(0, 2).Draw(t, "acceptor")
	m := time.Duration(rapid.SampledFrom([]int64{3, 8}).Draw(t, "M")) * ms
	s.bootAcceptor(i, m, false)
}

// deliver hands over one message, recent ones more likely than old, and sometimes keeps it for another time.
func (s *storm) deliver(t *rapid.T) {
	if len(s.network) == 0 {
		return
	}
	back := min(rapid.IntRange(0, 6).Draw(t, "message"), len(s.network)-1)
	at := len(s.network) - 1 - back
	m := s.network[at]
	if rapid.IntRange(0, 7).Draw(t, "keep") > 0 {
		s.network = append(s.network[:at:at], s.network[at+1:]...)
	}
	switch m.Kind {
	case KindPrepare, KindAccept, KindRelease:
		n := s.nodes[m.To-1]
		if reply, ok := n.acceptor.Handle(n.clock.read(s.real), m); ok {
			s.network = append(s.network, reply)
		}
	default:
		sp := s.proposers[m.To-1]
		s.network = append(s.network, sp.proposer.Handle(sp.clock.read(s.real), m)...)
	}
}

// check is the lease invariant (paper §2), M1 and A2's promise.
func (s *storm) check(t *rapid.T) {
	var owner *stormProposer
	for _, sp := range s.proposers {
		h, held := sp.proposer.Held(sp.clock.read(s.real))
		if !held {
			continue
		}
		if owner != nil {
			t.Fatalf("%v and %v own at once", owner.self, sp.self)
		}
		owner = sp
		if h.Number == sp.held.Number && sp.gap {
			t.Fatalf("%v: the tenure %+v continues across another's", sp.self, h)
		}
		if h.Number != sp.held.Number {
			s.wins++
		}
		sp.held, sp.gap = h, false
	}
	for _, sp := range s.proposers {
		sp.gap = sp.gap || (owner != nil && sp != owner)
	}
	for _, n := range s.nodes {
		now := n.clock.read(s.real)
		if r, ok := n.acceptor.Live(now); ok && n.acceptor.master.promised.Less(r.Ballot) {
			t.Fatalf("a live record under %v outlived its promise", r.Ballot)
		}
	}
}

func TestRandomSchedulesHaveOneOwner(t *testing.T) {
	wins, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := newStorm(t)
		for range 400 {
			s.step(t)
			s.check(t)
		}
		wins += s.wins
		runs++
	})
	if wins < runs {
		t.Errorf("%d wins in %d runs prove little", wins, runs)
	}
	t.Logf("%d wins in %d runs", wins, runs)
}
