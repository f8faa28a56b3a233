package named

import (
	"math"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

const ms = time.Millisecond

// One test a rule. Each comment names the place in the paper (PaxosLease: Diskless Paxos for Leases) that the rule
// comes from, and what the rule says for named leases; doc.go lists where each is implemented.

// other is a node beside world.self.
var other = ballot.Incarnation{Restart: 1, Node: 8, Nonce: 3}

func prepareOf(counter uint64) Request {
	return Request{Kind: Prepare, Name: nameOf("n"), Counter: counter}
}

func acceptOf(counter uint64, acquisition string, t Token) Request {
	return Request{Kind: Accept, Name: nameOf("n"), Counter: counter, Acquisition: acquisitionOf(acquisition), Token: t,
		Duration: 500 * ms, Owner: acquisition}
}

func releaseOf(acquisition string) Request {
	return Request{Kind: Release, Name: nameOf("n"), Counter: 1, Acquisition: acquisitionOf(acquisition)}
}

func withdrawOf(counter uint64, acquisition string) Request {
	return Request{Kind: Withdraw, Name: nameOf("n"), Counter: counter, Acquisition: acquisitionOf(acquisition)}
}

// failer is what tests, benchmarks and properties have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// opened is a table in era 1.
func opened(t failer, c Config, now time.Duration) *Table {
	t.Helper()
	table, err := NewTable(c, now)
	if err != nil {
		t.Fatal(err)
	}
	table.Open(1)
	return table
}

// does hands a request of world.self's to a table and fails unless the reply is of kind k.
func does(t testing.TB, table *Table, now time.Duration, q Request, k Kind) Reply {
	t.Helper()
	return doesFrom(t, table, now, ballot.Incarnation{Restart: 1, Node: 9, Nonce: 7}, q, k)
}

func doesFrom(t testing.TB, table *Table, now time.Duration, from ballot.Incarnation, q Request, k Kind) Reply {
	t.Helper()
	r, ok := table.Handle(now, from, q)
	if !ok || r.Kind != k || r.Check() != nil || r.Counter != q.Counter || r.Name != q.Name {
		t.Fatalf("%v was answered with %+v, %v, not with %v", q.Kind, r, ok, k)
	}
	return r
}

const at = time.Second // when most stories begin

func first(n uint32) Token { return FirstToken(1) + Token(n) }

// Paper §3 step 1. P1, T1: under a fresh ballot; the deadline counts from now and is there before any Prepare; Prepare
// goes to all.
func TestP1Start(t *testing.T) {
	w := newWorld(t)
	a := w.begin(ask("a"))
	q, to := a.Requests(w.now)
	if a.Deadline() != w.now+500*ms || a.Phase() != Preparing || q.Kind != Prepare || q.Counter != 1 ||
		to != quorum.Of(1, 2, 3) {
		t.Fatalf("attempt until %v, sends %+v to %v", a.Deadline(), q, to)
	}
	for _, bad := range []func(){
		func() { Begin(0, Ask{Duration: ms}, quorum.Of(1), 1) },
		func() { Begin(0, Ask{Acquisition: acquisitionOf("a")}, quorum.Of(1), 1) },
		func() { Begin(0, ask("a"), quorum.Of(1), 0) },
	} {
		if !panics(bad) {
			t.Error("an attempt without acquisition, length or ballot began")
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// Paper §3 step 3, §6. P2 with N1 for the base: a reply of another ballot, name or phase, or of no voter, is ignored;
// distinct acceptors are counted; a promise is open without a live lease or with one of this very acquisition, by
// whatever ballot.
func TestP2Promise(t *testing.T) {
	open := Reply{Kind: Promise, Name: nameOf("n"), Counter: 1, Report: first(4)}
	change := func(f func(r *Reply)) Reply { r := open; f(&r); return r }
	own := change(func(r *Reply) { r.Live, r.LiveAcquisition, r.LiveToken = true, acquisitionOf("a"), first(4) })
	for name, c := range map[string]struct {
		from  ballot.NodeID
		r     Reply
		moves bool
	}{
		"open":                      {2, open, true},
		"own lease":                 {2, own, true},
		"the same acceptor again":   {1, open, false},
		"no voter":                  {4, open, false},
		"another ballot":            {2, change(func(r *Reply) { r.Counter = 2 }), false},
		"another name":              {2, change(func(r *Reply) { r.Name = nameOf("m") }), false},
		"another phase":             {2, change(func(r *Reply) { r.Kind = Accepted }), false},
		"rejection of another kind": {2, change(func(r *Reply) { r.Kind = AcceptRejected }), false},
		"somebody else's lease": {2, change(func(r *Reply) {
			r.Live, r.LiveAcquisition, r.LiveToken = true,
				acquisitionOf("b"), 1
		}), false},
		"malformed": {2, change(func(r *Reply) { r.Live = true }), false},
	} {
		a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
		a.Handle(at, 1, open)
		if moved := a.Handle(at, c.from, c.r); moved != c.moves || (a.Phase() == Accepting) != c.moves {
			t.Errorf("%s: moved %v, phase %v", name, moved, a.Phase())
		}
	}
}

// Paper §3 step 3. P3: with open promises from a quorum, and before the deadline, Accept with acquisition, token and
// D_P goes to all, to those that refused to promise as well.
func TestP3Accept(t *testing.T) {
	promise := Reply{Kind: Promise, Name: nameOf("n"), Counter: 1, Report: first(4)}
	begin := func(q Ask) *Attempt {
		a := Begin(at, q, quorum.Of(1, 2, 3), 1)
		a.Handle(at, 3, Reply{Kind: PrepareRejected, Name: nameOf("n"), Counter: 1, Promised: 9})
		a.Handle(at, 1, promise)
		return &a
	}
	a := begin(ask("a"))
	a.Handle(at+500*ms-1, 2, promise)
	q, to := a.Requests(at + 500*ms - 1)
	if q.Kind != Accept || q.Acquisition != acquisitionOf("a") || q.Token != first(5) || q.Duration != 500*ms ||
		q.Owner != "owner of a" ||
		q.Check() != nil || to != quorum.Of(1, 2, 3) {
		t.Errorf("sends %+v to %v", q, to)
	}
	late := begin(ask("a"))
	if late.Handle(at+500*ms, 2, promise); late.End() != EndExpired || late.Asked() {
		t.Errorf("promises at the deadline: ended as %v, asked %v", late.End(), late.Asked())
	}
	// A lease that is held is known to some acceptor of every quorum. A renewal that meets none may not make a new one:
	// its owner believes to have owned all the time.
	gone := begin(renewal("a"))
	if gone.Handle(at, 2, promise); gone.End() != EndLost || gone.Asked() {
		t.Errorf("a renewal of nothing: ended as %v, asked %v", gone.End(), gone.Asked())
	}
}

// Paper §3 step 5. P4: Accepted from a quorum of distinct acceptors, before the deadline that P1 stored.
func TestP4Own(t *testing.T) {
	accepted := Reply{Kind: Accepted, Name: nameOf("n"), Counter: 1}
	begin := func() *Attempt {
		a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
		for n := ballot.NodeID(1); n <= 2; n++ {
			a.Handle(at, n, Reply{Kind: Promise, Name: nameOf("n"), Counter: 1, Report: first(4)})
		}
		a.Handle(at, 1, accepted)
		return &a
	}
	a := begin()
	if a.Handle(at, 1, accepted) || a.Phase() != Accepting {
		t.Error("one acceptor counted twice")
	}
	if !a.Handle(at+500*ms-1, 3, accepted) || a.End() != EndWon || a.Token() != first(5) || a.Deadline() != at+500*ms {
		t.Errorf("ended as %v with %v until %v", a.End(), a.Token(), a.Deadline())
	}
	late := begin()
	if late.Handle(at+500*ms, 3, accepted); late.End() != EndExpired {
		t.Errorf("at the deadline: %v", late.End())
	}
	over := begin()
	over.Abandon()
	if over.Handle(at, 3, accepted) || over.End() == EndWon {
		t.Error("an abandoned attempt won")
	}
}

// P4: what an attempt has won it does not lose by being asked for its requests after its deadline.
func TestP4AWinStays(t *testing.T) {
	a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
	for n := ballot.NodeID(1); n <= 2; n++ {
		a.Handle(at, n, Reply{Kind: Promise, Name: nameOf("n"), Counter: 1})
	}
	for n := ballot.NodeID(1); n <= 2; n++ {
		a.Handle(at, n, Reply{Kind: Accepted, Name: nameOf("n"), Counter: 1})
	}
	if _, to := a.Requests(at + 500*ms); to.Len() != 0 || a.End() != EndWon {
		t.Errorf("sends to %v, ended as %v", to, a.End())
	}
	if _, ok := a.Withdrawal(); ok {
		t.Error("a lease that was won is withdrawn")
	}
}

// Paper §3.5. P5: a request is repeated unchanged until it is answered; the attempt is given up when no quorum is left,
// and at its deadline.
func TestP5Abandon(t *testing.T) {
	reply := func(k Kind, f func(r *Reply)) Reply {
		r := Reply{Kind: k, Name: nameOf("n"), Counter: 1, Report: first(4)}
		if f != nil {
			f(&r)
		}
		return r
	}
	blocked := func(left time.Duration) Reply {
		return reply(Promise, func(r *Reply) {
			r.Live, r.LiveAcquisition, r.LiveToken, r.LiveLeft, r.LiveOwner = true, acquisitionOf("b"), first(4), left, "b"
		})
	}
	a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
	q1, _ := a.Requests(at)
	a.Handle(at, 2, reply(Promise, nil))
	if q2, to := a.Requests(at + ms); q2 != q1 || to != quorum.Of(1, 3) {
		t.Errorf("repeated as %+v to %v", q2, to)
	}
	if _, to := a.Requests(at + 500*ms); to.Len() != 0 || a.End() != EndExpired {
		t.Errorf("at the deadline: sends to %v, ended as %v", to, a.End())
	}
	for name, c := range map[string]struct {
		first, second Reply
		end           End
		retry         time.Duration
	}{
		"blocked twice": {blocked(5 * ms), blocked(3 * ms), EndBlocked, 3 * ms},
		"blocked and rejected": {blocked(5 * ms), reply(PrepareRejected, func(r *Reply) { r.Promised = 7 }), EndRejected,
			0},
		"rejected twice": {reply(PrepareRejected, nil), reply(PrepareRejected, func(r *Reply) { r.Promised = 7 }),
			EndRejected, 0},
		"no space, and rejected": {reply(PrepareRejected, func(r *Reply) { r.Full = true }), reply(PrepareRejected, nil),
			EndFull, 0},
	} {
		a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
		if a.Handle(at, 1, c.first); a.Phase() != Preparing {
			t.Errorf("%s: gave up at the first refusal", name)
		}
		if a.Handle(at, 2, c.second); a.End() != c.end || a.RetryIn() != c.retry ||
			a.Promised() != max(c.first.Promised, c.second.Promised) {
			t.Errorf("%s: ended as %v, retry in %v above %d", name, a.End(), a.RetryIn(), a.Promised())
		}
	}
}

// Obstacles of the first phase do not explain why the second failed, but a higher promise shown in the first phase
// still counts.
func TestP5EachPhaseHasItsOwnReasons(t *testing.T) {
	for name, c := range map[string]Reply{
		"no space": {Kind: PrepareRejected, Name: nameOf("n"), Counter: 1, Full: true, Promised: 9},
		"a lease": {Kind: Promise, Name: nameOf("n"), Counter: 1, Live: true, LiveAcquisition: acquisitionOf("b"),
			LiveToken: 1, Report: 1},
		"promised": {Kind: PrepareRejected, Name: nameOf("n"), Counter: 1, Promised: 9},
	} {
		a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
		a.Handle(at, 3, c)
		for n := ballot.NodeID(1); n <= 2; n++ {
			a.Handle(at, n, Reply{Kind: Promise, Name: nameOf("n"), Counter: 1})
		}
		for n := ballot.NodeID(1); n <= 2; n++ {
			a.Handle(at, n, Reply{Kind: AcceptRejected, Name: nameOf("n"), Counter: 1, Promised: 3})
		}
		_, lease := a.Blocker()
		if a.End() != EndRejected || lease || a.Promised() != max(3, c.Promised) {
			t.Errorf("%s: ended as %v, promised %d, blocked %v", name, a.End(), a.Promised(), lease)
		}
	}
}

// A lease that was in the way of a promise is not in the way of Accept, too: one more does not block a quorum.
func TestP5BlocksOfEachPhaseAreCountedAlone(t *testing.T) {
	inTheWay := func(k Kind, left time.Duration) Reply {
		return Reply{Kind: k, Name: nameOf("n"), Counter: 1, Live: true, LiveAcquisition: acquisitionOf("b"), LiveToken: 1,
			Report: 1, LiveLeft: left}
	}
	a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
	a.Handle(at, 3, inTheWay(Promise, 9*ms))
	for n := ballot.NodeID(1); n <= 2; n++ {
		a.Handle(at, n, Reply{Kind: Promise, Name: nameOf("n"), Counter: 1, Report: 1})
	}
	a.Handle(at, 1, inTheWay(AcceptRejected, 5*ms))
	a.Handle(at, 2, Reply{Kind: AcceptRejected, Name: nameOf("n"), Counter: 1, Promised: 3})
	if a.End() != EndRejected || a.RetryIn() != 0 {
		t.Errorf("ended as %v, retry in %v", a.End(), a.RetryIn())
	}
}

// P5, A3: the records of an attempt that has won nothing may be withdrawn, but only by the same run of its node and
// under its own ballot.
func TestP5Withdraw(t *testing.T) {
	w := newWorld(t)
	a := w.begin(ask("a"))
	w.round(a)
	if _, ok := a.Withdrawal(); ok {
		t.Error("an attempt in progress can be withdrawn")
	}
	q, _ := a.Requests(w.now)
	does(t, w.tables[1], w.now, q, Accepted)
	a.Abandon()
	undo, ok := a.Withdrawal()
	if !ok || undo != withdrawOf(1, "a") {
		t.Fatalf("withdraws %+v, %v", undo, ok)
	}
	for _, from := range []ballot.Incarnation{other, {Restart: 2, Node: 9, Nonce: 7}, {Restart: 1, Node: 9, Nonce: 8}} {
		w.tables[1].Handle(w.now, from, undo)
	}
	w.tables[1].Handle(w.now, w.self, withdrawOf(2, "a"))
	w.tables[1].Handle(w.now, w.self, withdrawOf(1, "b"))
	if _, live := w.tables[1].Live(w.now, nameOf("n")); !live {
		t.Error("withdrawn by another run, under another ballot or for another acquisition")
	}
	if _, answered := w.tables[1].Handle(w.now, w.self, undo); answered {
		t.Error("a Withdraw is answered")
	}
	if _, live := w.tables[1].Live(w.now, nameOf("n")); live {
		t.Error("not withdrawn")
	}
	won := w.try(ask("b"))
	w.want(won, EndWon)
	if _, ok := won.Withdrawal(); ok {
		t.Error("a lease that was won can be withdrawn")
	}
	unasked := w.begin(ask("c"))
	unasked.Abandon()
	if _, ok := unasked.Withdrawal(); ok {
		t.Error("an attempt without Accept can be withdrawn")
	}
}

// A3: a record that has replaced a live one carries that one's exclusion too, which its owner may rest on. It is not
// withdrawn.
func TestA3WithdrawSparesWhatWasThere(t *testing.T) {
	table := opened(t, testConfig(), at)
	does(t, table, at, acceptOf(1, "a", first(1)), Accepted)
	does(t, table, at+ms, acceptOf(2, "a", first(1)), Accepted)
	table.Handle(at+ms, ballot.Incarnation{Restart: 1, Node: 9, Nonce: 7}, withdrawOf(2, "a"))
	if _, live := table.Live(at+ms, nameOf("n")); !live {
		t.Error("a failed renewal's Withdraw ended the lease that it had renewed")
	}
	// The same Accept twice replaces nothing but itself.
	table = opened(t, testConfig(), at)
	does(t, table, at, acceptOf(1, "a", first(1)), Accepted)
	does(t, table, at+ms, acceptOf(1, "a", first(1)), Accepted)
	table.Handle(at+ms, ballot.Incarnation{Restart: 1, Node: 9, Nonce: 7}, withdrawOf(1, "a"))
	if _, live := table.Live(at+ms, nameOf("n")); live {
		t.Error("an Accept that came twice cannot be withdrawn")
	}
	// After the end of the one before, there is nothing to spare.
	does(t, table, at+ms, acceptOf(3, "a", first(2)), Accepted)
	later := at + ms + 510*ms
	does(t, table, later, acceptOf(4, "a", first(3)), Accepted)
	table.Handle(later, ballot.Incarnation{Restart: 1, Node: 9, Nonce: 7}, withdrawOf(4, "a"))
	if _, live := table.Live(later, nameOf("n")); live {
		t.Error("a lease after the end of another cannot be withdrawn")
	}
}

// Paper §7. P6, A3: a Release names the acquisition; it ends its lease under whatever ballot, and no other one.
func TestP6Release(t *testing.T) {
	w := newWorld(t)
	w.want(w.try(ask("a")), EndWon)
	w.want(w.try(renewal("a")), EndWon)
	for _, table := range w.tables {
		doesFrom(t, table, w.now, other, releaseOf("b"), Released)
	}
	w.want(w.try(ask("b")), EndBlocked)
	for _, table := range w.tables {
		doesFrom(t, table, w.now, other, releaseOf("a"), Released)
	}
	w.want(w.try(renewal("a")), EndLost)
	w.want(w.try(ask("b")), EndWon)
}

// Paper §3 step 2. A1: at or above the promise: promise, with the live lease if there is one; else reject with the
// promise.
func TestA1Prepare(t *testing.T) {
	table := opened(t, testConfig(), at)
	does(t, table, at, prepareOf(5), Promise)
	does(t, table, at, prepareOf(5), Promise)
	if r := does(t, table, at, prepareOf(4), PrepareRejected); r.Promised != 5 || r.Live {
		t.Errorf("rejected with %+v", r)
	}
	if doesFrom(t, table, at, other, prepareOf(5), PrepareRejected); table.Promised(nameOf("n")) != 5 {
		t.Error("a lower node's ballot was promised") // 5@8 is below 5@9
	}
	does(t, table, at, acceptOf(5, "a", first(1)), Accepted)
	r := does(t, table, at+500*ms, prepareOf(6), Promise)
	if !r.Live || r.LiveAcquisition != acquisitionOf("a") || r.LiveToken != first(1) || r.LiveLeft != 10*ms ||
		r.LiveOwner != "a" || r.Report != first(1) {
		t.Errorf("promised with %+v", r)
	}
	if r := does(t, table, at+510*ms, prepareOf(6), Promise); r.Live || r.Report != first(1) {
		t.Errorf("an expired lease is reported: %+v", r)
	}
	if r := does(t, table, at+510*ms, Request{Kind: Prepare, Name: nameOf("m"), Counter: 1},
		Promise); r.Report != first(0) {
		t.Errorf("an unknown name has token %v", r.Report)
	}
}

// Paper §3 step 4. A2: at or above the promise, unless a live lease of another acquisition is there, whatever the
// ballot; the promise rises; the exclusion is D_A and never gets shorter; no lease is longer than M.
func TestA2Accept(t *testing.T) {
	table := opened(t, testConfig(), at)
	does(t, table, at, prepareOf(5), Promise)
	if r := does(t, table, at, acceptOf(4, "a", first(1)), AcceptRejected); r.Promised != 5 {
		t.Errorf("rejected with %+v", r)
	}
	long := acceptOf(5, "a", first(1))
	if long.Duration = testM + 1; !refused(t, table, at, long) {
		t.Error("a lease longer than M was accepted")
	}
	does(t, table, at, acceptOf(6, "a", first(1)), Accepted)
	if table.Promised(nameOf("n")) != 6 || !refused(t, table, at, acceptOf(5, "a", first(1))) {
		t.Error("Accept did not raise the promise")
	}
	if !refused(t, table, at+510*ms-1, acceptOf(9, "b", first(2))) {
		t.Error("a live lease of another was replaced")
	}
	short := acceptOf(7, "a", first(1))
	short.Duration = ms
	does(t, table, at, short, Accepted)
	if l, _ := table.Live(at, nameOf("n")); l.Left != 510*ms {
		t.Errorf("a shorter renewal left %v", l.Left)
	}
	does(t, table, at+510*ms, acceptOf(9, "b", first(2)), Accepted)
}

func refused(t *testing.T, table *Table, now time.Duration, q Request) bool {
	t.Helper()
	before := string(table.AppendState(nil, now))
	r, ok := table.Handle(now, ballot.Incarnation{Restart: 1, Node: 9, Nonce: 7}, q)
	if ok && r.Kind == AcceptRejected && string(table.AppendState(nil, now)) != before {
		t.Errorf("a rejected %v changed something", q.Kind)
	}
	return ok && r.Kind == AcceptRejected
}

// Paper §4. A4, N3: after a start the acceptor says nothing to anybody until the quarantine is over and an era is
// there.
func TestA4Restart(t *testing.T) {
	c := testConfig()
	c.SilentUntil = at + 10*ms
	table, err := NewTable(c, at)
	if err != nil {
		t.Fatal(err)
	}
	silent := func(now time.Duration) bool {
		for _, q := range []Request{prepareOf(1), acceptOf(1, "a", FirstToken(9)), releaseOf("a"), withdrawOf(1, "a")} {
			if _, ok := table.Handle(now, other, q); ok {
				return false
			}
		}
		return table.Records() == 0
	}
	if !silent(at) || !silent(at+10*ms) || table.Opened() {
		t.Error("answers without an era")
	}
	table.Open(7)
	if !silent(at+10*ms-1) || table.QuarantineLeft(at+ms) != 9*ms || table.QuarantineLeft(at+time.Minute) != 0 {
		t.Error("answers in its quarantine")
	}
	doesFrom(t, table, at+10*ms, other, prepareOf(1), Promise)
}

// L1: what an acceptor tells of a lease is a hint.
func TestL1Hint(t *testing.T) {
	table := opened(t, testConfig(), at)
	if l, ok := table.Live(at, nameOf("n")); ok {
		t.Errorf("live: %+v", l)
	}
	does(t, table, at, acceptOf(1, "a", first(1)), Accepted)
	if l, ok := table.Live(at+500*ms, nameOf("n")); !ok || l != (Lease{acquisitionOf("a"), "a", first(1), 10 * ms}) {
		t.Errorf("live: %+v, %v", l, ok)
	}
	if _, ok := table.Live(at+510*ms, nameOf("n")); ok {
		t.Error("a lease that is over lives")
	}
}

// T1: there is one deadline, P1's. What comes later does not move it.
func TestT1Deadline(t *testing.T) {
	w := newWorld(t)
	a := w.begin(ask("a"))
	w.round(a) // promises
	w.now += 499 * ms
	w.round(a) // and the rest, much later
	w.want(a, EndWon)
	if a.Deadline() != at+500*ms {
		t.Errorf("owns until %v", a.Deadline())
	}
}

// T2: D_A is D_P·(1+ρ)/(1−ρ) + margin. T3 is Config.SilentUntil, which package lease plans.
func TestT2Exclusion(t *testing.T) {
	c := testConfig()
	c.Timing.DriftPPM = 10_000
	table := opened(t, c, at)
	q := acceptOf(1, "a", first(1))
	q.Duration = 1000 * ms
	does(t, table, at, q, Accepted)
	if l, _ := table.Live(at, nameOf("n")); l.Left != 1031*ms {
		t.Errorf("excludes for %v", l.Left)
	}
}

// T4: the counter that a rejection shows is handed on, so that the next ballot can be above it.
func TestT4Ballots(t *testing.T) {
	w := newWorld(t)
	for n := range w.tables {
		doesFrom(t, w.tables[n], w.now, other, prepareOf(40), Promise)
	}
	a := w.try(ask("a"))
	w.want(a, EndRejected)
	w.counter = a.Promised()
	w.want(w.try(ask("a")), EndWon)
}

// N1: the owner is an acquisition. Renewals and retries come through any node, under any ballot, and another
// acquisition is another owner.
func TestN1Owner(t *testing.T) {
	w := newWorld(t)
	a := w.try(ask("a"))
	w.want(a, EndWon)
	w.self = ballot.Incarnation{Restart: 9, Node: 4, Nonce: 1} // no base, another node
	b := w.try(renewal("a"))
	w.want(b, EndWon)
	if b.Token() != a.Token() {
		t.Errorf("token %v became %v", a.Token(), b.Token())
	}
	w.want(w.try(ask("a")), EndWon) // a retry whose first answer was lost
	again := ask("b")
	again.Owner = "owner of a"
	w.want(w.try(again), EndBlocked)
}

// N2 at the acceptor: a token must be above the name's last one and above the floor, or be the live lease's own.
func TestN2AcceptorTakes(t *testing.T) {
	for name, c := range map[string]struct {
		last  Token // of a lease of "a"
		floor Token
		over  bool // that lease is over
		who   string
		token Token
		takes bool
	}{
		"unknown name, at the floor":          {floor: first(5), who: "a", token: first(5)},
		"unknown name, above the floor":       {floor: first(5), who: "a", token: first(6), takes: true},
		"live, the same again":                {last: first(5), who: "a", token: first(5), takes: true},
		"live, the same below a raised floor": {last: first(5), floor: first(8), who: "a", token: first(5), takes: true},
		"live, lower":                         {last: first(5), who: "a", token: first(4)},
		"live, higher":                        {last: first(5), who: "a", token: first(6), takes: true},
		"live, higher but below the floor":    {last: first(5), floor: first(8), who: "a", token: first(6)},
		"over, the same again":                {last: first(5), over: true, who: "a", token: first(5)},
		"over, another, the same":             {last: first(5), over: true, who: "b", token: first(5)},
		"over, another, higher":               {last: first(5), over: true, who: "b", token: first(6), takes: true},
		"over, another, below the floor":      {last: first(5), floor: first(8), over: true, who: "b", token: first(6)},
	} {
		table := opened(t, testConfig(), at)
		if c.last != 0 {
			does(t, table, at, acceptOf(1, "a", c.last), Accepted)
		}
		if c.over {
			does(t, table, at, releaseOf("a"), Released)
		}
		table.raise(c.floor)
		r, _ := table.Handle(at, other, acceptOf(2, c.who, c.token))
		if (r.Kind == Accepted) != c.takes || (r.Kind == AcceptRejected && r.Report != max(c.last, c.floor, first(0))) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// N2: dropping a record raises the floor to its token.
func TestN2DropRaisesTheFloor(t *testing.T) {
	table := opened(t, testConfig(), at)
	does(t, table, at, acceptOf(1, "a", first(5)), Accepted)
	table.Sweep(at+509*ms, 10)
	if table.Records() != 1 {
		t.Fatal("a live lease was dropped")
	}
	if table.Sweep(at+512*ms, 10); table.Records() != 0 || table.Floor() != first(5) {
		t.Errorf("%d records, floor %v", table.Records(), table.Floor())
	}
	if r := does(t, table, at+512*ms, prepareOf(1), Promise); r.Report != first(5) {
		t.Errorf("reports %v", r.Report) // the promise is forgotten too, and need not be known
	}
}

// N2 at the proposer: the largest report plus one; T again if the largest is nothing but its own live record's; and
// above what was refused.
func TestN2Proposer(t *testing.T) {
	type report struct{ own, token Token } // own: the live record's
	for name, c := range map[string]struct {
		atLeast Token
		reports [2]report
		want    Token
	}{
		"new name":                           {0, [2]report{{0, first(0)}, {0, first(3)}}, first(4)},
		"renewal":                            {0, [2]report{{first(3), first(3)}, {first(3), first(3)}}, first(3)},
		"renewal, the other has less":        {0, [2]report{{first(3), first(3)}, {0, first(2)}}, first(3)},
		"renewal, the other has more":        {0, [2]report{{first(3), first(3)}, {0, first(4)}}, first(5)},
		"renewal, floor above":               {0, [2]report{{first(3), first(6)}, {first(3), first(3)}}, first(7)},
		"renewal, own records differ":        {0, [2]report{{first(3), first(3)}, {first(4), first(4)}}, first(4)},
		"renewal, the other's just as large": {0, [2]report{{first(3), first(3)}, {0, first(3)}}, first(4)},
		"renewal, after a refusal for this token": {first(3), [2]report{{first(3), first(3)}, {first(3), first(3)}},
			first(4)},
		"after a refusal that told of a larger": {first(9), [2]report{{0, first(0)}, {0, first(0)}}, first(10)},
	} {
		q := ask("a")
		q.AtLeast = c.atLeast
		a := Begin(at, q, quorum.Of(1, 2, 3), 1)
		for i, r := range c.reports {
			p := Reply{Kind: Promise, Name: nameOf("n"), Counter: 1, Report: r.token}
			if r.own != 0 {
				p.Live, p.LiveAcquisition, p.LiveToken = true, acquisitionOf("a"), r.own
			}
			a.Handle(at, ballot.NodeID(i+1), p)
		}
		if q, _ := a.Requests(at); q.Token != c.want {
			t.Errorf("%s: proposes %v, want %v", name, q.Token, c.want)
		}
	}
	a := Begin(at, ask("a"), quorum.Of(1, 2, 3), 1)
	a.Handle(at, 1, Reply{Kind: Promise, Name: nameOf("n"), Counter: 1, Report: first(2)})
	a.Handle(at, 2, Reply{Kind: PrepareRejected, Name: nameOf("n"), Counter: 1, Report: first(7)})
	if a.Reported() != first(7) {
		t.Errorf("reported %v", a.Reported())
	}
}

// N2: an acceptor that has missed renewals knows the token of a lease that it holds for over. The owner must be able to
// renew with it all the same.
func TestN2RenewalThroughAnAcceptorThatMissedSome(t *testing.T) {
	w := newWorld(t)
	for _, table := range w.tables {
		table.Open(5)
	}
	a := w.try(ask("a"))
	w.want(a, EndWon)
	does(t, w.tables[3], w.now, acceptOf(1, "a", a.Token()), Accepted)
	w.down[3] = true
	for range 3 {
		w.now += 300 * ms
		w.want(w.try(renewal("a")), EndWon)
	}
	w.down[3], w.down[1] = false, true
	w.want(w.try(renewal("a")), EndWon)
}

// N1: a lease that is held is not called lost. Its record is with 2 and 3, and with 1 that of the owner before, whose
// release has not come there. Once 3 is removed, no quorum is open until that record has ended.
func TestN1RenewalAfterAVoterIsRemoved(t *testing.T) {
	w := newWorld(t)
	first := ask("a")
	first.Duration /= 2
	w.want(w.try(first), EndWon)
	for n := ballot.NodeID(2); n <= 3; n++ {
		does(t, w.tables[n], w.now, Request{Kind: Release, Name: nameOf("n"), Counter: w.counter, Acquisition: acquisitionOf("a")},
			Released)
	}
	w.want(w.try(ask("b")), EndWon)
	w.voters = quorum.Of(1, 2)
	w.want(w.try(renewal("b")), EndRejected)
	w.want(w.try(renewal("c")), EndBlocked) // nobody has a record of this one
	w.now += 2 * first.Duration * 8 / 10
	w.want(w.try(renewal("b")), EndWon)
}

// N1: of two renewals at a time one may find no record with a quorum, because the other one makes the record there
// again after they have promised. An acceptor that refuses the slow one for its promise knows the lease.
func TestN1TwoRenewalsAtATime(t *testing.T) {
	w := newWorld(t)
	w.want(w.try(ask("a")), EndWon)
	for n := ballot.NodeID(1); n <= 3; n += 2 { // these two have lost the record
		w.start(n, testConfig(), uint32(n))
	}
	slow := w.begin(renewal("a"))
	q, _ := slow.Requests(w.now)
	r3, _ := w.tables[3].Handle(w.now, w.self, q)
	w.want(w.try(renewal("a")), EndWon)
	for _, n := range []ballot.NodeID{2, 1} {
		r, _ := w.tables[n].Handle(w.now, w.self, q)
		if n == 1 {
			r = Reply{Kind: Promise, Name: q.Name, Counter: q.Counter, Membership: q.Membership} // as before the other one
		}
		slow.Handle(w.now, n, r)
	}
	slow.Handle(w.now, 3, r3)
	w.want(slow, EndRejected)
}

// N3: the upper half of a token is an era. Nothing carries over into it; a new one begins above all of the old.
func TestN3Eras(t *testing.T) {
	last := FirstToken(4) + math.MaxUint32
	if last.Era() != 4 || last+1 != FirstToken(5) || !last.HalfUsed() ||
		(FirstToken(4) + math.MaxUint32/2).HalfUsed() || last.String() != "4.4294967295" {
		t.Fatalf("%v: era %d", last, last.Era())
	}
	if n, ok := last.next(); ok {
		t.Errorf("%v comes after %v", n, last)
	}
	w := newWorld(t)
	for _, table := range w.tables {
		table.raise(last)
	}
	w.want(w.try(ask("a")), EndUsedUp)
	w.tables[1].Open(9)
	w.tables[1].Open(6) // late: nothing falls
	a := w.try(ask("a"))
	w.want(a, EndWon)
	if a.Token() != FirstToken(9)+1 || w.tables[1].Floor() != FirstToken(9) {
		t.Errorf("token %v, floor %v", a.Token(), w.tables[1].Floor())
	}
}

// A configuration that cannot hold is refused.
func TestConfigIsChecked(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"no space":    func(c *Config) { c.MaxRecords = 0 },
		"much space":  func(c *Config) { c.MaxRecords = LargestTable + 1 },
		"linger":      func(c *Config) { c.Linger = LongestLinger + 1 },
		"less linger": func(c *Config) { c.Linger = -1 },
		"width":       func(c *Config) { c.Width = 0 },
		"timing":      func(c *Config) { c.Timing = lease.Timing{} },
	} {
		c := testConfig()
		change(&c)
		if _, err := NewTable(c, 0); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := NewTable(testConfig(), -1); err == nil {
		t.Error("a clock below zero is taken")
	}
}

// A record stays for a Linger after its lease has ended, however soon after its making that is.
func TestRecordsLinger(t *testing.T) {
	c := testConfig()
	c.Linger = 100 * ms
	table := opened(t, c, at)
	does(t, table, at, prepareOf(1), Promise)
	q := acceptOf(1, "a", first(1))
	q.Duration = ms
	does(t, table, at+95*ms, q, Accepted) // until at + 106 ms
	if table.Sweep(at+205*ms, 10); table.Records() != 1 {
		t.Error("dropped before its time")
	}
	if table.Sweep(at+207*ms+2*c.Width, 10); table.Records() != 0 {
		t.Error("not dropped in time")
	}
}

// With no space for another name the answer says so; known names go on.
func TestFull(t *testing.T) {
	c := testConfig()
	c.MaxRecords = 1
	table := opened(t, c, at)
	does(t, table, at, acceptOf(1, "a", first(1)), Accepted)
	if r := does(t, table, at, Request{Kind: Prepare, Name: nameOf("m"), Counter: 1}, PrepareRejected); !r.Full ||
		r.Report != first(0) {
		t.Errorf("%+v", r)
	}
	does(t, table, at, acceptOf(2, "a", first(1)), Accepted)
}
