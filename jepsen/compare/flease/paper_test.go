package flease

import (
	"errors"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// One test a rule. Each comment names the place in the paper (Flease, sections and algorithms) that the rule comes
// from, and what the rule says; doc.go lists where each is implemented.

// Algorithm 4, corrected. F1: a fresh ballot; the expiry counts from now and is stored before READ leaves; READ goes to
// all.
func TestF1Start(t *testing.T) {
	w := newWorld(t)
	b := w.start(p)
	a := w.proposers[p].Attempt()
	if b != (Ballot{w.now, p}) || a.Phase != PhaseReading || a.Until != w.now+8*ms || len(w.sent) != 3 {
		t.Fatalf("attempt %+v with %v", a, w.sent)
	}
	w.deliver(KindRead, b, 1)
	w.pass(3 * ms)
	w.deliver(KindRead, b, 2)
	if m := w.find(KindWrite, b, 3); m.Lease != (Lease{p, 108 * ms}) {
		t.Fatalf("the expiry counts from the read's end: %v", m)
	}
	w.pass(5 * ms)
	w.deliver(KindWrite, b, 1, 2)
	if w.owns(p) {
		t.Fatal("owns at its expiry")
	}
}

// A schedule that gives two owners if the expiry counts from the read's end, however long the silence after a restart
// (see DESIGN.md): here it stops where both would write.
func TestScheduleLateExpiry(t *testing.T) {
	w := newWorld(t)
	kp := w.start(p)
	w.pass(1) // so that q's ballot is the higher one
	kq := w.start(q)
	w.deliver(KindRead, kp, 1)
	w.deliver(KindRead, kq, 1) // a promise not to take p's WRITE
	w.restart(1)
	w.pass(tiny.RestartWait())
	w.deliver(KindRead, kp, 2) // p has read, from before the crash and after it
	if w.proposers[p].Attempt().Phase != PhaseNone {
		t.Fatal("p writes under a ballot whose promise may be forgotten")
	}
	w.deliver(KindRead, kq, 3)
	if w.proposers[q].Attempt().Phase != PhaseNone {
		t.Fatal("q writes under a ballot whose promise may be forgotten")
	}
}

// Algorithm 1, read. F2: acks of another ballot or phase are ignored; distinct processes are counted, not messages; the
// value under the highest ballot counts; nacks end an attempt when they leave no quorum.
func TestF2Read(t *testing.T) {
	w := newWorld(t)
	old := w.start(p)
	ack := must2(w.acceptors[1].Handle(w.now, w.find(KindRead, old, 1)))
	b := w.start(p)
	if w.proposers[p].Handle(w.now, ack); !old.Less(b) || w.proposers[p].attempt.votes.Len() != 0 {
		t.Fatalf("counted %v for %v", ack, b)
	}
	w.deliver(KindRead, b, 1, 1, 1)
	if w.proposers[p].Attempt().Phase != PhaseReading {
		t.Fatal("counted messages, not processes")
	}
	stranger := ack
	stranger.From, stranger.Ballot = 9, b
	if w.proposers[p].Handle(w.now, stranger); w.proposers[p].Attempt().Phase != PhaseReading {
		t.Fatal("counted a stranger")
	}

	w = newWorld(t)
	w.acceptors[1].written, w.acceptors[1].lease = Ballot{1, q}, Lease{q, w.now - 9*ms}
	w.acceptors[2].written, w.acceptors[2].lease = Ballot{2, q}, Lease{q, w.now + 5*ms}
	for _, order := range [][]ballot.NodeID{{1, 2}, {2, 1}} {
		b := w.start(p)
		w.deliver(KindRead, b, order...)
		if m := w.find(KindWrite, b, 3); m.Lease != (Lease{q, w.now + 5*ms}) {
			t.Errorf("read %v: writes %v", order, m)
		}
	}

	w = newWorld(t)
	low := w.start(p)
	w.skew[q] = 1 * ms
	high := w.start(q)
	w.deliver(KindRead, high, 2, 3)
	w.deliver(KindRead, low, 2)
	if w.proposers[p].Attempt().Phase != PhaseReading {
		t.Fatal("one nack of three ended the attempt")
	}
	if w.deliver(KindRead, low, 3); w.proposers[p].Attempt().Last != EndRejected {
		t.Fatal("two nacks of three did not")
	}
}

func must2(m Message, ok bool) Message {
	if !ok {
		panic("no reply")
	}
	return m
}

// Algorithm 4. F3: an empty register, or a lease that is over by ε, is taken. One's own lease is renewed, and another's
// is written back unchanged. A lease that is over by less than ε is not taken by anybody.
func TestF3Decide(t *testing.T) {
	for name, c := range map[string]struct {
		found Lease
		at    time.Duration // ahead of the lease's expiry
		write Lease         // zero: none
	}{
		"empty":                {write: Lease{p, 108 * ms}},
		"another's":            {found: Lease{q, 103 * ms}, write: Lease{q, 103 * ms}},
		"another's, last tick": {found: Lease{q, 100*ms + 1}, write: Lease{q, 100*ms + 1}},
		"over just now":        {found: Lease{q, 100 * ms}},
		"over, not by ε":       {found: Lease{q, 98*ms + 1}},
		"over by ε":            {found: Lease{q, 98 * ms}, write: Lease{p, 108 * ms}},
		"over long ago":        {found: Lease{q, 1 * ms}, write: Lease{p, 108 * ms}},
		"own":                  {found: Lease{p, 103 * ms}, write: Lease{p, 108 * ms}},
		"own, not over by ε":   {found: Lease{p, 99 * ms}},
		"own, over by ε":       {found: Lease{p, 98 * ms}, write: Lease{p, 108 * ms}},
	} {
		w := newWorld(t)
		if !c.found.IsZero() {
			w.acceptors[1].written, w.acceptors[1].lease = Ballot{1, q}, c.found
		}
		b := w.start(p)
		w.deliver(KindRead, b, 1, 2)
		a := w.proposers[p].Attempt()
		if c.write.IsZero() {
			if a.Last != EndWaiting || w.proposers[p].WaitsUntil() != c.found.Until+2*ms ||
				w.proposers[p].Known() != c.found {
				t.Errorf("%s: %+v, waits until %v", name, a, w.proposers[p].WaitsUntil())
			}
			continue
		}
		if a.Phase != PhaseWriting || w.find(KindWrite, b, 2).Lease != c.write {
			t.Errorf("%s: %+v, writes %v", name, a, w.sent[len(w.sent)-1])
		}
	}
}

// The safety period is exactly as long as it must be: the owner's clock is ε behind, and the other takes the lease in
// the instant in which it ends. A step of the clock's resolution less would be two owners.
func TestF3SafetyPeriod(t *testing.T) {
	w := newWorld(t)
	w.skew[p], w.skew[q] = 0, 2*ms
	w.mustGet(p, EndWon, 1, 2)
	w.pass(6 * ms) // q's clock is at the expiry
	w.mustGet(q, EndWaiting, 2, 3)
	w.pass(2*ms - 1)
	w.mustGet(q, EndWaiting, 2, 3)
	if !w.owns(p) {
		t.Fatal("p owns for another instant")
	}
	w.pass(1)
	w.mustGet(q, EndWon, 2, 3)
}

// Beyond ε the promise is off: the same with clocks 3 ms apart.
func TestBeyondSkewThereAreTwoOwners(t *testing.T) {
	w := newWorld(t)
	w.skew[p], w.skew[q] = 0, 3*ms
	w.mustGet(p, EndWon, 1, 2)
	w.pass(7 * ms)
	b := w.start(q)
	for _, k := range []Kind{KindRead, KindWrite} {
		for _, id := range []ballot.NodeID{2, 3} {
			reply := must2(w.acceptors[id].Handle(w.clock(id), w.find(k, b, id)))
			w.sent = append(w.sent, w.proposers[q].Handle(w.clock(q), reply)...)
		}
	}
	if !w.owns(p) || !w.owns(q) {
		t.Fatalf("p owns %v, q owns %v", w.owns(p), w.owns(q))
	}
}

// Algorithm 3: a lease is renewed while it lasts, and while it is, others decide the same owner. What others copy is
// complete, even if its owner had reached no quorum, and then the owner gets it when it asks.
func TestF3RenewAndCopy(t *testing.T) {
	w := newWorld(t)
	w.mustGet(p, EndWon, 1, 2)
	w.pass(4 * ms)
	w.mustGet(p, EndWon, 2, 3)
	if l, _ := w.proposers[p].Held(w.now); l.Until != 112*ms {
		t.Fatalf("renewed until %v", l.Until)
	}
	w.pass(4 * ms)
	w.mustGet(q, EndOther, 1, 3)
	if w.proposers[q].Known() != (Lease{p, 112 * ms}) || w.owns(q) {
		t.Fatalf("q knows %v", w.proposers[q].Known())
	}

	w = newWorld(t)
	b := w.start(p)
	w.deliver(KindRead, b, 1, 2)
	w.deliver(KindWrite, b, 1)
	w.pass(ms)
	w.mustGet(q, EndOther, 1, 2)
	if l, _, _ := w.acceptors[2].Register(); l != (Lease{p, 108 * ms}) {
		t.Fatalf("the copy is %v", l)
	}
	w.pass(ms)
	w.mustGet(p, EndWon, 2, 3)
}

// Algorithm 1, write; §3.1. F4: the write commits with a quorum of distinct processes, and owns only before its expiry,
// which Held asks each time.
func TestF4WriteAndOwn(t *testing.T) {
	w := newWorld(t)
	b := w.start(p)
	w.deliver(KindRead, b, 1, 2)
	w.deliver(KindWrite, b, 1, 1, 1)
	if w.owns(p) {
		t.Fatal("counted messages, not processes")
	}
	late := w.proposers[p].Clone()
	w.deliver(KindWrite, b, 2)
	if !w.owns(p) {
		t.Fatal("does not own")
	}
	w.pass(8*ms - 1)
	if !w.owns(p) {
		t.Fatal("owns for too short")
	}
	w.pass(1)
	if w.owns(p) {
		t.Fatal("owns at the expiry")
	}
	late.Handle(w.now, Message{Kind: KindWriteAck, From: 2, To: p, Ballot: b})
	if _, held := late.Held(w.now); held || late.Attempt().Last != EndExpired {
		t.Fatal("a late ack owns")
	}
}

// Algorithm 1, READ; lemmas R1, R3. F5: a READ is refused below the ballot that was read, and at or below the ballot
// that was written. A repeated READ is answered again.
func TestF5RegisterReads(t *testing.T) {
	l := Lease{q, 200 * ms}
	for name, c := range map[string]struct {
		read, written Ballot
		ack           bool
	}{
		"fresh":          {ack: true},
		"read lower":     {read: Ballot{4, p}, ack: true},
		"the same again": {read: Ballot{5, p}, ack: true},
		"read higher":    {read: Ballot{5, q}},
		"written lower":  {read: Ballot{4, p}, written: Ballot{4, p}, ack: true},
		"written":        {read: Ballot{5, p}, written: Ballot{5, p}},
		"written higher": {read: Ballot{4, p}, written: Ballot{6, p}},
	} {
		a := newWorld(t).acceptors[1]
		a.reading, a.written = c.read, c.written
		if !c.written.IsZero() {
			a.lease = l
		}
		m := must2(a.Handle(0, Message{Kind: KindRead, From: p, To: 1, Ballot: Ballot{5, p}}))
		if c.ack &&
			(m.Kind != KindReadAck || m.Written != c.written || m.Lease != a.lease || a.reading != (Ballot{5, p})) {
			t.Errorf("%s: %v", name, m)
		}
		if !c.ack &&
			(m.Kind != KindReadNack || !(Ballot{5, p}).Less(m.Seen) && m.Seen != (Ballot{5, p}) ||
				a.reading != c.read) {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// Algorithm 1, WRITE; lemmas R2, R3. F6: refused below what was read or written; at its own ballot it stands.
func TestF6RegisterWrites(t *testing.T) {
	l := Lease{p, 200 * ms}
	for name, c := range map[string]struct {
		read, written Ballot
		ack           bool
	}{
		"fresh":          {ack: true},
		"its read":       {read: Ballot{5, p}, ack: true},
		"again":          {read: Ballot{5, p}, written: Ballot{5, p}, ack: true},
		"read higher":    {read: Ballot{5, q}},
		"written higher": {written: Ballot{6, p}},
	} {
		a := newWorld(t).acceptors[1]
		a.reading, a.written = c.read, c.written
		m := must2(a.Handle(0, Message{Kind: KindWrite, From: p, To: 1, Ballot: Ballot{5, p}, Lease: l}))
		if c.ack && (m.Kind != KindWriteAck || a.written != (Ballot{5, p}) || a.lease != l) {
			t.Errorf("%s: %v", name, m)
		}
		if !c.ack && (m.Kind != KindWriteNack || a.written != c.written || !a.lease.IsZero()) {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// §3.5, corrected. F7: a process that has forgotten all neither answers nor asks until t_max + 3ε have passed on its
// clock.
func TestF7Restart(t *testing.T) {
	w := newWorld(t)
	if d := tiny.RestartWait(); d != 14*ms {
		t.Fatalf("waits %v", d)
	}
	w.restart(1)
	w.restart(p)
	b := w.start(q)
	w.pass(14*ms - 1)
	if m := w.deliver(KindRead, b, 1); m.Kind != 0 || len(w.proposers[p].Start(w.now)) != 0 {
		t.Fatalf("said %v in its silence", m)
	}
	if w.acceptors[1].SilentFor(w.now) != 1 {
		t.Fatal("the silence is not where it should be")
	}
	w.pass(1)
	if m := w.deliver(KindRead, b, 1); m.Kind != KindReadAck {
		t.Fatal("still silent")
	}
	if len(w.proposers[p].Start(w.now)) != 3 {
		t.Fatal("still silent")
	}
}

// §3.5, §3.6, corrected. F8: a ballot is the time of the clock and the process, never the same twice, just above what a
// nack has shown, and never ahead of the clock by more than ε.
func TestF8Ballots(t *testing.T) {
	w := newWorld(t)
	pr := w.proposers[p]
	if b := w.start(p); b != (Ballot{100 * ms, p}) {
		t.Fatalf("ballot %v", b)
	}
	if b := w.start(p); b != (Ballot{100*ms + 1, p}) {
		t.Fatalf("ballot %v at the same reading", b)
	}
	nack := func(seen time.Duration) {
		pr.Handle(w.now, Message{Kind: KindReadNack, From: 1, To: p, Ballot: pr.Attempt().Ballot,
			Seen: Ballot{seen, q}})
	}
	nack(101 * ms)
	if b := w.start(p); b != (Ballot{101*ms + 1, p}) {
		t.Fatalf("ballot %v after a nack with %v", b, 101*ms)
	}
	nack(300 * ms) // beyond ε: a clock is wrong, and following it would put every ballot ahead of every clock
	if b := w.start(p); b != (Ballot{101*ms + 2, p}) {
		t.Fatalf("ballot %v after a nack with a time that no clock can read", b)
	}
	nack(101500 * time.Microsecond) // the wrong one hides no other
	if b := w.start(p); b != (Ballot{101500*time.Microsecond + 1, p}) {
		t.Fatalf("ballot %v after a nack with %v", b, 101500*time.Microsecond)
	}
	pr.drawn = w.now + tiny.Skew
	if pr.Start(w.now) != nil {
		t.Fatal("drew a ballot further ahead than ε")
	}
	w.pass(1)
	if b := w.start(p); b != (Ballot{w.now + tiny.Skew, p}) {
		t.Fatalf("ballot %v", b)
	}
}

// A process that has waited is asked under a higher ballot than any that it has forgotten, because ballots are times.
// If they were not, q's old WRITE would replace p's lease, and be over itself: two owners.
func TestScheduleBallotNotFromClock(t *testing.T) {
	w := newWorld(t)
	old := w.start(q)
	w.deliver(KindRead, old, 1, 3)
	w.restart(1)
	w.pass(tiny.RestartWait())
	w.mustGet(p, EndWon, 1, 2)
	if m := w.deliver(KindWrite, old, 1); m.Kind != KindWriteNack {
		t.Fatalf("a WRITE from before the crash gets %v", m)
	}
	w.deliver(KindWrite, old, 3)
	w.mustGet(q, EndOther, 1, 3)
}

// §3.6 has ballots whose times differ by at most ε count as equal in time, and then compares processes. That is no
// order: here each of three is below the next, in a circle. So it is not done here; a slow clock is helped by F8's look
// at nacks instead.
func TestTimeRangesAreNoOrder(t *testing.T) {
	ranged := func(a, b Ballot) bool { // a below b
		if d := a.Time - b.Time; d > tiny.Skew || -d > tiny.Skew {
			return a.Time < b.Time
		}
		return a.Node < b.Node
	}
	a, b, c := Ballot{0, 3}, Ballot{3 * ms, 1}, Ballot{1500 * time.Microsecond, 2}
	if !ranged(a, b) || !ranged(b, c) || !ranged(c, a) {
		t.Fatal("no circle")
	}
	if !a.Less(c) || !c.Less(b) || b.Less(a) {
		t.Fatal("Less is no order")
	}
}

// §3.1: t_max > ε, or nothing could ever be owned for sure.
func TestConfigurationThatIsRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"no node":        {Voters: quorum.Of(1), Lease: ms},
		"no voters":      {Self: 1, Lease: ms},
		"t_max not > ε":  {Self: 1, Voters: quorum.Of(1), Lease: ms, Skew: ms},
		"negative ε":     {Self: 1, Voters: quorum.Of(1), Lease: ms, Skew: -1},
		"t_max overflow": {Self: 1, Voters: quorum.Of(1), Lease: maxSpan},
	} {
		if _, err := NewProposer(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: proposer %v", name, err)
		}
		if _, err := NewAcceptor(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: acceptor %v", name, err)
		}
	}
}
