package lease

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
)

// One test a rule. Each comment names the place in the paper (PaxosLease: Diskless Paxos for Leases) that the rule
// comes from, and what the rule says; doc.go lists where each is implemented.

// Paper §3 step 1, §6. P1: a fresh ballot; the deadline counts from now and is stored before Prepare leaves, and so is
// the ballot of the lease held at this moment, or none; Prepare goes to all.
func TestP1Start(t *testing.T) {
	w := newWorld(t)
	w.now = 7 * ms
	out := w.proposers[p].Start(w.now)
	a := w.proposers[p].Attempt()
	if a.Phase != PhasePreparing || a.Deadline != 9*ms || !a.Base.IsZero() || len(out) != 3 {
		t.Fatalf("attempt %+v with %d messages", a, len(out))
	}
	for i, m := range out {
		if m.Kind != KindPrepare || m.To != ballot.NodeID(i+1) || m.Ballot != a.Ballot || m.Resource != MasterResource ||
			m.Class != ClassMaster {
			t.Errorf("sent %v", m)
		}
	}
	w.win(p, 2, 2*ms, 1, 2)
	held, _ := w.proposers[p].Held(w.now)
	w.tick()
	w.start(p, 3, 2*ms)
	if a := w.proposers[p].Attempt(); a.Base != held.Ballot || a.Ballot.Compare(held.Ballot) <= 0 || a.Deadline != 10*ms {
		t.Fatalf("renewal %+v of %+v", a, held)
	}
	w.tick()
	w.tick()
	w.start(p, 4, 2*ms)
	if a := w.proposers[p].Attempt(); !a.Base.IsZero() {
		t.Fatalf("a lease that is over became a base: %+v", a)
	}
}

// P1 gives up the attempt in progress, and says so; how one that is over has ended stays known.
func TestP1StartGivesUpWhatIsInProgress(t *testing.T) {
	w := newWorld(t)
	w.win(q, 1, 2*ms, 1, 2)
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2) // refused by both: q was first
	if a := w.proposers[p].Attempt(); a.Phase != PhaseNone || a.Last.Reason != EndRejected {
		t.Fatalf("the attempt that was refused: %+v", a)
	}
	w.start(p, 2, 2*ms)
	if a := w.proposers[p].Attempt(); a.Last.Reason != EndRejected {
		t.Errorf("with nothing in progress the start has ended something: %+v", a.Last)
	}
	w.start(p, 3, 2*ms)
	if a := w.proposers[p].Attempt(); a.Last.Reason != EndAbandoned || a.Ballot.Counter != 3 {
		t.Errorf("the attempt in progress: %+v", a)
	}
}

// Paper §3 step 3, §6. P2: a reply of another ballot or phase is ignored; distinct acceptors are counted; a promise is
// open without a live lease or, while the base of a renewal is held, with one of this incarnation at or above the base.
func TestP2Promise(t *testing.T) {
	self := ballot.Incarnation{Restart: 1, Node: p, Nonce: 5}
	for name, c := range map[string]struct {
		held, base time.Duration // deadline of the lease held, counter of the base
		live       ballot.Ballot
		owner      ballot.Incarnation
		open       bool
	}{
		"no live lease":             {open: true},
		"own record, fresh attempt": {live: ballot.New(1, self), owner: self},
		"own record, fresh, held":   {held: 9 * ms, live: ballot.New(4, self), owner: self},
		"own record at the base":    {held: 9 * ms, base: 4, live: ballot.New(4, self), owner: self, open: true},
		"own record above the base": {held: 9 * ms, base: 4, live: ballot.New(5, self), owner: self, open: true},
		"own record below the base": {held: 9 * ms, base: 4, live: ballot.New(3, self), owner: self},
		"base over":                 {held: 5 * ms, base: 4, live: ballot.New(4, self), owner: self},
		"other node": {held: 9 * ms, base: 4, live: ballot.New(4, self),
			owner: ballot.Incarnation{Restart: 1, Node: q, Nonce: 5}},
		"other run of this node": {held: 9 * ms, base: 4, live: ballot.New(4, self),
			owner: ballot.Incarnation{Restart: 0, Node: p, Nonce: 5}},
		"this run after a roll-back": {held: 9 * ms, base: 4, live: ballot.New(4, self),
			owner: ballot.Incarnation{Restart: 1, Node: p, Nonce: 6}},
		"other node, nothing is held": {live: ballot.New(4, self), owner: ballot.Incarnation{Restart: 1, Node: q, Nonce: 5}},
	} {
		pr := newWorld(t).proposers[p]
		pr.cfg.Self = self
		pr.held.Deadline = c.held
		if c.base > 0 {
			pr.attempt.base = ballot.New(uint64(c.base), self)
		}
		m := Message{Live: c.owner != ballot.Incarnation{}, LiveOwner: c.owner, LiveBallot: c.live}
		if got := pr.open(5*ms, m); got != c.open {
			t.Errorf("%s: open %v", name, got)
		}
	}

	w := newWorld(t)
	w.start(p, 1, 2*ms)
	promise, _ := w.acceptors[1].Handle(0, w.find(KindPrepare, p, 1, 1))
	w.start(p, 2, 2*ms)
	before := *w.proposers[p]
	accepted := promise
	accepted.Kind, accepted.Ballot = KindAccepted, before.attempt.ballot
	stranger := promise
	stranger.From, stranger.Ballot = 9, before.attempt.ballot
	for _, m := range []Message{promise, accepted, stranger} {
		if w.proposers[p].Handle(0, m); *w.proposers[p] != before {
			t.Errorf("counted %v", m)
		}
	}
	w.deliver(KindPrepare, p, 2, 1, 1, 1)
	if w.proposers[p].Attempt().Phase != PhasePreparing {
		t.Error("counted messages, not acceptors")
	}
}

// Paper §3 step 3. P3: with open promises from a quorum, and before the deadline, Accept with owner and D_P goes to
// all.
func TestP3Accept(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1)
	late := w.proposers[p].Clone()
	w.deliver(KindPrepare, p, 1, 2)
	for id := ballot.NodeID(1); id <= 3; id++ {
		m := w.find(KindAccept, p, 1, id)
		if m.Owner != w.proposers[p].cfg.Self || m.Duration != 2*ms || m.Check() != nil {
			t.Errorf("sent %v", m)
		}
	}
	second := Message{Kind: KindPromise, From: 2, To: p, Resource: MasterResource, Class: ClassMaster,
		Ballot: late.Attempt().Ballot}
	if out := late.Handle(2*ms, second); len(out) != 0 || late.Attempt().Last.Reason != EndExpired {
		t.Fatalf("Accept at the deadline: %v, %+v", out, late.Attempt())
	}
}

// Paper §3 step 5. P4: Accepted from a quorum of distinct acceptors before the deadline gives the lease, until the
// later of this deadline and the one still held; it is read from the stored deadline, whatever timers do.
func TestP4Own(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.tick()
	w.deliver(KindAccept, p, 1, 1)
	late := w.proposers[p].Clone()
	w.deliver(KindAccept, p, 1, 2)
	h, held := w.proposers[p].Held(w.now)
	if !held || h.Number != 1 || h.Since != ms || h.Deadline != 2*ms {
		t.Fatalf("tenure %+v, %v", h, held)
	}
	vote := Message{Kind: KindAccepted, From: 2, To: p, Resource: MasterResource, Class: ClassMaster, Ballot: h.Ballot}
	wrong := vote
	wrong.Ballot.Counter++
	if late.Handle(ms, wrong); late.held != (Tenure{}) {
		t.Fatal("a vote for another ballot counted")
	}
	late.Handle(2*ms, vote)
	if late.held != (Tenure{}) || late.Attempt().Last.Reason != EndExpired {
		t.Fatalf("won at the deadline: %+v", late.held)
	}
	if _, held := w.proposers[p].Held(2*ms - 1); !held {
		t.Error("not held just before the deadline")
	}
	if _, held := w.proposers[p].Held(2 * ms); held {
		t.Error("held at the deadline, though nothing has run since")
	}

	w.win(p, 2, ms/2, 1, 2) // shorter than what is left
	if h, _ := w.proposers[p].Held(w.now); h.Deadline != 2*ms || h.Ballot.Counter != 2 || h.Number != 1 {
		t.Fatalf("a shorter renewal: %+v", h)
	}
	w.win(p, 3, 2*ms, 1, 2)
	if h, _ := w.proposers[p].Held(w.now); h.Deadline != 3*ms || h.Since != ms || h.Number != 1 {
		t.Fatalf("a renewal: %+v", h)
	}
}

// Paper §3 (end), §5. P5: requests are repeated unchanged until answered; an attempt ends when refusals leave no
// quorum, or at its deadline; the lease already held stays until its own deadline; the next ballot is higher.
func TestP5Abandon(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.deliver(KindPrepare, p, 1, 1)
	if out := w.proposers[p].Resend(ms); !reflect.DeepEqual(out, w.sent[1:3]) {
		t.Fatalf("resent %v", out)
	}
	w.deliver(KindPrepare, p, 1, 2)
	w.deliver(KindAccept, p, 1, 3)
	if out := w.proposers[p].Resend(ms); len(out) != 2 || out[0] != w.find(KindAccept, p, 1, 1) ||
		out[1] != w.find(KindAccept, p, 1, 2) {
		t.Fatalf("resent %v", out)
	}
	w.deliver(KindAccept, p, 1, 2)
	if out := w.proposers[p].Resend(ms); len(out) != 1 || out[0] != w.find(KindAccept, p, 1, 1) {
		t.Fatalf("after the win, resent %v", out)
	}

	held, _ := w.proposers[p].Held(0)
	w.start(q, 5, 2*ms)
	w.deliver(KindPrepare, q, 5, 1, 2, 3)
	if e := w.proposers[q].Attempt(); e.Phase != PhaseNone || e.Last.Reason != EndBlocked ||
		e.Last.Blocker.Owner != w.proposers[p].cfg.Self || e.Last.Blocker.Left != 2*ms {
		t.Fatalf("q: %+v", e)
	}
	w.start(p, 2, 2*ms)
	w.deliver(KindPrepare, p, 2, 1)
	if w.proposers[p].Attempt().Phase != PhasePreparing {
		t.Fatal("one refusal of three ended the attempt")
	}
	w.deliver(KindPrepare, p, 2, 2)
	if e := w.proposers[p].Attempt(); e.Phase != PhaseNone || e.Last.Reason != EndRejected ||
		e.Last.Promised.Counter != 5 {
		t.Fatalf("p: %+v", e)
	}
	if h, ok := w.proposers[p].Held(0); !ok || h != held {
		t.Fatalf("the rejected renewal left %+v", h)
	}
	w.sent = append(w.sent, w.proposers[p].Start(0)...)
	w.deliver(KindPrepare, p, 6, 1)
	if out := w.proposers[p].Resend(2 * ms); out != nil || w.proposers[p].Attempt().Last.Reason != EndExpired {
		t.Fatalf("at the deadline: %v, %+v", out, w.proposers[p].Attempt())
	}
	for _, m := range w.sent {
		if m.Kind == KindRelease {
			t.Fatalf("sent %v", m)
		}
	}
}

// Paper §7. P6: the ownership and the attempt in progress end first, for good; Release then names the ballot held and
// each later one that had an Accept out.
func TestP6Release(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms) // an Accept of 1 is out, and older than what is held
	w.deliver(KindPrepare, p, 1, 1, 2)
	w.win(p, 2, 2*ms, 1, 2)
	w.start(p, 3, 2*ms)
	w.deliver(KindPrepare, p, 3, 1, 2)
	w.proposers[p].Abandon()
	w.start(p, 4, 2*ms)
	w.deliver(KindPrepare, p, 4, 1) // no Accept of 4
	w.start(p, 5, 2*ms)
	w.deliver(KindPrepare, p, 5, 1, 2)
	out := w.proposers[p].Release(w.now)
	if w.owns(p) || w.proposers[p].Attempt().Phase != PhaseNone || w.proposers[p].Attempt().Last.Reason != EndReleased {
		t.Fatalf("after the release: %+v", w.proposers[p].Attempt())
	}
	var named []uint64
	for i, m := range out {
		if m.Kind != KindRelease || m.Owner != w.proposers[p].cfg.Self || m.To != ballot.NodeID(i%3+1) || m.Check() != nil {
			t.Errorf("sent %v", m)
		}
		if i%3 == 0 {
			named = append(named, m.Ballot.Counter)
		}
	}
	if !reflect.DeepEqual(named, []uint64{2, 3, 5}) {
		t.Errorf("named %v", named)
	}
	w.deliver(KindAccept, p, 5, 1, 2, 3)
	if w.owns(p) {
		t.Error("a vote brought the attempt back")
	}
	if again := w.proposers[p].Release(w.now); len(again) != 0 {
		t.Errorf("nothing is left to release, but sent %v", again)
	}
	w.sent = append(w.sent, out...)
	w.deliver(KindRelease, p, 5, 1, 2, 3) // else the late Accept blocks even its sender
	w.win(p, 6, 2*ms, 1, 2)
	if h, _ := w.proposers[p].Held(w.now); h.Number != 2 {
		t.Errorf("the release did not end the tenure: %+v", h)
	}
}

// Paper §3 step 2. A1: at or above the promise, promise and report the live lease, an expired one being none; else
// refuse and show the promise.
func TestA1Prepare(t *testing.T) {
	w := newWorld(t)
	w.start(p, 3, 2*ms)
	w.deliver(KindPrepare, p, 3, 1, 2)
	wantKind(t, w.deliver(KindPrepare, p, 3, 1), KindPromise) // equal is enough
	w.start(q, 2, 2*ms)
	m := w.deliver(KindPrepare, q, 2, 1)
	wantKind(t, m, KindPrepareRejected)
	if m.Promised != w.find(KindPrepare, p, 3, 1).Ballot {
		t.Errorf("showed %v", m)
	}
	w.deliver(KindAccept, p, 3, 1, 2)
	w.start(q, 4, 2*ms)
	w.tick()
	m = w.deliver(KindPrepare, q, 4, 1)
	wantKind(t, m, KindPromise)
	if !m.Live || m.LiveOwner != w.proposers[p].cfg.Self || m.LiveBallot.Counter != 3 || m.LiveLeft != ms {
		t.Errorf("reported %v", m)
	}
	w.tick()
	if m = w.deliver(KindPrepare, q, 4, 1); m.Kind != KindPromise || m.Live {
		t.Errorf("an expired lease was reported: %v", m)
	}
}

// Paper §3 step 4, narrowed. A2: at or above the promise, no live lease of a different owner, D_P ≤ M: record, raise
// the promise, never shorten the exclusion. Otherwise change nothing.
func TestA2Accept(t *testing.T) {
	mine := ballot.Incarnation{Restart: 1, Node: p, Nonce: 1}
	other := ballot.Incarnation{Restart: 1, Node: q, Nonce: 1}
	for name, c := range map[string]struct {
		counter uint64
		owner   ballot.Incarnation
		d       time.Duration
		now     time.Duration
		ok      bool
		left    time.Duration
	}{
		"the same again":              {5, mine, 2 * ms, 0, true, 2 * ms},
		"the same, later":             {5, mine, 2 * ms, ms, true, 2 * ms},
		"higher, same owner":          {6, mine, ms, ms, true, ms},
		"shorter, same owner":         {6, mine, ms, 0, true, 2 * ms},
		"lower, same owner":           {4, mine, 2 * ms, 0, false, 2 * ms},
		"lower, expired":              {4, mine, 2 * ms, 2 * ms, false, 0},
		"higher, other owner":         {9, other, 2 * ms, 2*ms - 1, false, 1},
		"higher, other, expired":      {9, other, ms, 2 * ms, true, ms},
		"longer than M":               {9, mine, 2*ms + 1, 0, false, 2 * ms},
		"longer than M, other, later": {9, other, 2*ms + 1, 2 * ms, false, 0},
	} {
		a := newWorld(t).acceptors[1]
		m := Message{
			Kind: KindAccept, From: p, To: 1, Resource: MasterResource, Class: ClassMaster,
			Ballot: ballot.New(5, mine), Owner: mine, Duration: 2 * ms,
		}
		if first, _ := a.Handle(0, m); first.Kind != KindAccepted || a.master.promised != m.Ballot {
			t.Fatalf("%s: %v, promised %v", name, first, a.master.promised)
		}
		before := a.master
		m.Ballot, m.Owner, m.Duration = ballot.New(c.counter, c.owner), c.owner, c.d
		reply, _ := a.Handle(c.now, m)
		if (reply.Kind == KindAccepted) != c.ok {
			t.Errorf("%s: %v", name, reply)
		}
		if r, _ := a.Live(c.now); r.Left != c.left {
			t.Errorf("%s: %v left, want %v", name, r.Left, c.left)
		}
		if !c.ok && a.master != before {
			t.Errorf("%s: a refusal changed %+v to %+v", name, before, a.master)
		}
		if c.ok && (a.master.promised != m.Ballot || a.master.ballot != m.Ballot || a.master.owner != c.owner) {
			t.Errorf("%s: recorded %+v", name, a.master)
		}
		if !c.ok && reply.Promised != before.promised {
			t.Errorf("%s: showed %v", name, reply)
		}
	}
}

// Paper §7. A3: a record is cleared only by its exact owner and ballot; the promise stays.
func TestA3Release(t *testing.T) {
	mine := ballot.Incarnation{Restart: 1, Node: p, Nonce: 1}
	for name, c := range map[string]struct {
		owner   ballot.Incarnation
		counter uint64
		cleared bool
	}{
		"exact":         {mine, 5, true},
		"lower ballot":  {mine, 4, false},
		"higher ballot": {mine, 6, false},
		"other owner":   {ballot.Incarnation{Restart: 2, Node: p, Nonce: 1}, 5, false},
	} {
		a := newWorld(t).acceptors[1]
		m := Message{
			Kind: KindAccept, From: p, To: 1, Resource: MasterResource, Class: ClassMaster,
			Ballot: ballot.New(5, mine), Owner: mine, Duration: 2 * ms,
		}
		a.Handle(0, m)
		m.Kind, m.Owner, m.Ballot = KindRelease, c.owner, ballot.New(c.counter, mine)
		if reply, ok := a.Handle(0, m); ok {
			t.Errorf("%s: answered %v", name, reply)
		}
		if _, live := a.Live(0); live == c.cleared {
			t.Errorf("%s: live %v", name, live)
		}
		if a.master.promised != ballot.New(5, mine) {
			t.Errorf("%s: promised %v", name, a.master.promised)
		}
	}
}

// Paper §3 (end). A4: silent to everything until the longest quarantine owed has passed; the start record
// is lowered only then; the run of the bootstrap owes nothing.
func TestA4Restart(t *testing.T) {
	a := must(NewAcceptor(AcceptorConfig{Self: 1, Timing: tiny, SilentUntil: 5 * ms}))
	mine := ballot.Incarnation{Restart: 1, Node: p, Nonce: 1}
	for _, k := range []Kind{KindPrepare, KindAccept, KindRelease} {
		m := Message{Kind: k, From: p, To: 1, Resource: MasterResource, Class: ClassMaster, Ballot: ballot.New(5, mine),
			Owner: mine, Duration: ms}
		if _, ok := a.Handle(5*ms-1, m); ok {
			t.Errorf("answered %v in its silence", k)
		}
		if _, ok := a.Handle(5*ms, m); ok == (k == KindRelease) {
			t.Errorf("%v after the silence: answered %v", k, ok)
		}
	}
	if left := a.QuarantineLeft(5*ms - 1); left != 1 {
		t.Errorf("left: %v", left)
	}
	const own = 2 * ms
	for name, c := range map[string]struct {
		stored           time.Duration
		bootstrap        bool
		silence, atStart time.Duration
	}{
		"genesis":                 {0, true, 0, own},
		"bootstrap, and a record": {7 * ms, true, 0, 7 * ms},
		"nothing stored":          {0, false, own, own},
		"shorter stored":          {ms, false, own, own},
		"longer stored":           {7 * ms, false, 7 * ms, 7 * ms},
	} {
		plan := must(PlanQuarantine(c.stored, tiny, c.bootstrap))
		if plan.Silence != c.silence || plan.AtStart != c.atStart || plan.Deadline(ms) != ms+c.silence {
			t.Errorf("%s: %+v", name, plan)
		}
		if early := plan.Record(plan.Silence - 1); early != plan.AtStart {
			t.Errorf("%s: lowered to %v in the silence", name, early)
		}
		if late := plan.Record(plan.Silence); late != own {
			t.Errorf("%s: lowered to %v after the silence", name, late)
		}
	}
	for _, stored := range []time.Duration{-1, maxSpan} {
		if _, err := PlanQuarantine(stored, tiny, false); !errors.Is(err, ErrTiming) {
			t.Errorf("a stored length of %v: %v", stored, err)
		}
	}
}

// Paper §3 (end). L1: only the owner knows that it owns. An acceptor's record is a hint, and no hint changes what a
// proposer owns or does.
func TestL1Hint(t *testing.T) {
	w := newWorld(t)
	w.win(p, 1, 2*ms, 1, 2)
	if r, ok := w.live(1); !ok || r.Owner != w.proposers[p].cfg.Self {
		t.Fatalf("hint %+v, %v", r, ok)
	}
	w.release(p)
	if r, ok := w.live(1); !ok || r.Owner.Node != p || w.owns(p) {
		t.Errorf("the hint %+v should outlive the ownership", r)
	}
	w.start(q, 2, 2*ms)
	a, b := w.proposers[q].Clone(), w.proposers[q].Clone()
	m, _ := w.acceptors[1].Handle(w.now, w.find(KindPrepare, q, 2, 1))
	a.Handle(w.now, m)
	m.LiveLeft = -5
	b.Handle(w.now, m)
	if string(a.AppendState(nil, w.now)) != string(b.AppendState(nil, w.now)) {
		t.Error("a remote idea of the expiry changed what the proposer will do")
	}
}

// Paper §3 step 3, corrected. T1: the attempt's deadline starts at Prepare, is stored, and nothing later moves it.
func TestT1Deadline(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, 2*ms)
	w.tick()
	w.proposers[p].Resend(w.now)
	w.deliver(KindPrepare, p, 1, 1, 2)
	if d := w.proposers[p].Attempt().Deadline; d != 2*ms {
		t.Fatalf("the promise quorum moved the deadline to %v", d)
	}
	w.proposers[p].Resend(w.now)
	w.deliver(KindAccept, p, 1, 1, 2)
	if h, _ := w.proposers[p].Held(w.now); h.Deadline != 2*ms {
		t.Fatalf("the win moved the deadline to %v", h.Deadline)
	}
	a := attempt{deadline: 5}
	if !a.inTime(4) || a.inTime(5) {
		t.Error("in time is before the deadline, not at it")
	}
}

// Paper §4 supposes that acceptors' timers outlast the proposer's; T2 makes it so: D_A ≥ D_P·(1+ρ)/(1−ρ), and a
// configuration that breaks it is refused with its numbers.
func TestT2Exclusion(t *testing.T) {
	timing := Timing{MaxMaster: time.Second, MaxUser: time.Minute, DriftPPM: 10_000, Margin: 10 * ms}
	if d, err := timing.Exclusion(time.Second); err != nil || d != 1031*ms {
		t.Fatalf("D_A(1s) = %v, %v", d, err)
	}
	timing.Margin = -ms
	err := timing.Validate()
	if !errors.Is(err, ErrTiming) {
		t.Fatalf("a negative margin: %v", err)
	}
	for _, part := range []string{"D_A ≥ D_P·(1+ρ)/(1−ρ)", "1.019202021s", "1.020202021s", "10000 ppm", "-1ms"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

// Paper §3 (end) waits M; T3 makes it D_Q(M), longer by the clocks' errors.
func TestT3Quarantine(t *testing.T) {
	timing := Timing{MaxMaster: time.Second, MaxUser: 2 * time.Second, DriftPPM: 10_000, Margin: 10 * ms}
	plan := must(PlanQuarantine(0, timing, false))
	if want := 1031 * ms; plan.Silence != want || plan.Own != want {
		t.Fatalf("silence %+v", plan)
	}
	timing.DriftPPM = -1
	if _, err := PlanQuarantine(0, timing, false); !errors.Is(err, ErrTiming) {
		t.Fatalf("a negative drift: %v", err)
	}
}

// Paper §2. T4: no ballot is used twice, in one run or across runs, and a proposer continues above a promise that a
// rejection has shown.
func TestT4Ballots(t *testing.T) {
	seen := map[ballot.Ballot]bool{}
	for restart := range uint64(3) {
		w := newWorld(t)
		w.restartProposer(p, restart)
		for range 5 {
			b := w.proposers[p].Start(0)[0].Ballot
			if seen[b] {
				t.Fatalf("ballot %v twice", b)
			}
			seen[b] = true
		}
	}
	w := newWorld(t)
	w.start(q, 40, ms)
	w.deliver(KindPrepare, q, 40, 1)
	w.start(p, 1, ms)
	w.deliver(KindPrepare, p, 1, 1)
	if b := w.proposers[p].Start(0)[0].Ballot; b.Counter != 41 {
		t.Fatalf("after a rejection by counter 40, ballot %v", b)
	}
}

// Not in the paper. M1: a tenure is unbroken; a win at or after the old deadline is a new one, however short the gap.
func TestM1Holding(t *testing.T) {
	for _, c := range []struct {
		at     time.Duration
		number uint64
		since  time.Duration
	}{{2*ms - 1, 1, 0}, {2 * ms, 2, 2 * ms}, {2*ms + 1, 2, 2*ms + 1}} {
		w := newWorld(t)
		w.win(p, 1, 2*ms, 1, 2)
		w.tick()
		w.start(p, 2, 2*ms)
		w.deliver(KindPrepare, p, 2, 1, 2) // a renewal so far
		w.now = c.at
		w.deliver(KindAccept, p, 2, 1, 2)
		if h, held := w.proposers[p].Held(w.now); !held || h.Number != c.number || h.Since != c.since || h.Deadline != 3*ms {
			t.Errorf("won at %v: %+v", c.at, h)
		}
	}
}
