package elector

import (
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

// changes drains what node id has found out since the last time.
func (w *electors) changes(id ballot.NodeID) (starts []TenureStart, ends []TenureEnd) {
	for _, c := range w.nodes[id].TakeTenureChanges() {
		if c.Start != nil {
			starts = append(starts, *c.Start)
		} else {
			ends = append(ends, *c.End)
		}
	}
	return starts, ends
}

// owned lets a first owner renew a few times, and drains the changes so far.
func (w *electors) owned() ballot.NodeID {
	w.t.Helper()
	w.run("an owner", time.Second, func() bool { return w.owner() != 0 })
	id := w.owner()
	w.nodes[id].pace.quick = -1 << 20 // it asks for the whole lease time
	until := w.now + 3*testLease
	w.run("renewals", 4*testLease, func() bool { return w.now > until })
	if w.owner() != id {
		w.t.Fatalf("node %d owned, now %d does", id, w.owner())
	}
	starts, ends := w.changes(id)
	if len(starts) != 1 || starts[0].How != EndingNone || len(ends) != 0 {
		w.t.Fatalf("the first tenure: %+v, %+v", starts, ends)
	}
	return id
}

// lost runs until node id has lost its tenure, and is its one end.
func (w *electors) lost(id ballot.NodeID) TenureEnd {
	w.t.Helper()
	w.run("the end", 4*testLease, func() bool { return w.nodes[id].tenures.tenure == 0 })
	_, ends := w.changes(id)
	if len(ends) != 1 {
		w.t.Fatalf("ends are %+v", ends)
	}
	return ends[0]
}

// won runs until another node than id has won, and is its one beginning.
func (w *electors) won(id ballot.NodeID) TenureStart {
	w.t.Helper()
	w.run("a successor", 4*testLease, func() bool { return w.owner() != 0 && w.owner() != id })
	starts, _ := w.changes(w.owner())
	if len(starts) != 1 {
		w.t.Fatalf("starts are %+v", starts)
	}
	return starts[0]
}

func others(w *electors, id ballot.NodeID) (s quorum.Set) {
	for _, o := range w.order {
		if o != id {
			s.Add(o)
		}
	}
	return s
}

func TestCauseOfARelease(t *testing.T) {
	for _, why := range []Cause{CauseStopping, CauseHandedOver, CauseNoSpace, CauseNoProgress} {
		w := newElectors(t, 3)
		id := w.owned()
		w.nodes[id].releases(w.now, testLease, why)
		w.deliver()
		if e := w.lost(id); e.Cause != why || e.At != w.now || e.Held < 3*testLease ||
			!strings.HasPrefix(e.String(), "released") {
			t.Errorf("released for %v, the end is %+v", why, e)
		}
		if s := w.won(id); s.How != EndingReleased || s.Before != id || s.Ownerless > testLease/4 {
			t.Errorf("released for %v, the successor knows %+v", why, s)
		}
	}
}

func TestCauseUnanswered(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	w.cut[id] = true
	s := w.won(id) // only after its own acceptor's record has run out
	e := w.lost(id)
	if e.Cause != CauseUnanswered || e.Unanswered != others(w, id) || e.Refused.Len() != 0 || e.Tries == 0 ||
		!strings.Contains(e.String(), "nodes ") || !strings.HasSuffix(e.String(), " did not answer") {
		t.Errorf("%+v: %v", e, e)
	}
	// Messages take no time here, so the successor's idea of the end differs by rounding only.
	if off := s.At - e.At - s.Ownerless; s.How != EndingExpired || s.Before != id || s.Ownerless <= 0 ||
		off < -time.Millisecond || off > time.Millisecond {
		t.Errorf("the successor knows %+v of %+v", s, e)
	}
}

func TestOneSilentVoterEndsNothing(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	w.cut[id%3+1] = true
	until := w.now + 5*testLease
	w.run("renewals", 6*testLease, func() bool { return w.now > until })
	if starts, ends := w.changes(id); len(starts)+len(ends) > 0 {
		t.Errorf("%+v, %+v", starts, ends)
	}
}

// One node refuses and others are silent: who is to blame depends on whether the silent ones alone prevent a quorum.
func TestCauseOfAMixture(t *testing.T) {
	for _, c := range []struct {
		nodes, silent int
		want          Cause
	}{{3, 1, CauseRefused}, {5, 2, CauseRefused}, {5, 3, CauseUnanswered}} {
		w := newElectors(t, c.nodes)
		id := w.owned()
		all := others(w, id)
		refuser, rival := all.At(0), all.At(1)
		high := uint64(1000)
		for i := range c.silent {
			w.cut[all.At(1+i)] = true
		}
		w.sent = func(_ ballot.NodeID, m lease.Message) {
			if m.From == id && m.To == refuser && m.Kind == lease.KindPrepare {
				high += 1000
				w.nodes[refuser].hear(w.now, lease.Message{Kind: lease.KindPrepare, From: rival, To: refuser,
					Resource: lease.MasterResource,
					Class:    lease.ClassMaster, Ballot: ballot.New(high, incarnation(rival))})
			}
		}
		if e := w.lost(id); e.Cause != c.want || e.Unanswered.Len() != c.silent || e.Refused != quorum.Of(refuser) {
			t.Errorf("%+v: %+v", c, e)
		}
	}
}

// Accepts that get no answer leave the same voters silent as Prepares do.
func TestCauseUnansweredAccepts(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	w.drop = func(m lease.Message) bool { return m.Kind == lease.KindAccept && m.From == id }
	if e := w.lost(id); e.Cause != CauseUnanswered || e.Unanswered != others(w, id) {
		t.Errorf("%+v", e)
	}
}

func TestCauseRefused(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	rival := id%3 + 1
	high := uint64(1000)
	w.sent = func(_ ballot.NodeID, m lease.Message) {
		if m.Kind != lease.KindPrepare || m.From != id {
			return
		}
		high += 1000 // a promise above each of its Prepares
		w.nodes[m.To].hear(w.now, lease.Message{Kind: lease.KindPrepare, From: rival, To: m.To,
			Resource: lease.MasterResource,
			Class:    lease.ClassMaster, Ballot: ballot.New(high, incarnation(rival))})
	}
	e := w.lost(id)
	if e.Cause != CauseRefused || e.Refused != others(w, id) || e.Promised.Incarnation() != incarnation(rival) ||
		e.Tries < 2 {
		t.Errorf("%+v", e)
	}
	if text := e.String(); !strings.Contains(text, " refused, promised to node ") {
		t.Error(text)
	}
}

func TestCauseLoopLate(t *testing.T) {
	for _, late := range []time.Duration{testLease * 8 / 10, testLease, 10 * testLease} {
		w := newElectors(t, 3)
		id := w.owned()
		won := w.nodes[id].tenures.renewAt
		w.run("a renewal", testLease, func() bool { return w.nodes[id].tenures.renewAt != won })
		w.idle[id] = true
		until := w.now + late
		w.run("the pause", late+time.Second, func() bool { return w.now > until })
		w.idle[id] = false
		w.nodes[id].Gap(Gap{Processor: 3 * time.Millisecond, Waited: late, Faults: 7})
		w.step(id)
		if late < testLease {
			w.cut[id] = true // the renewal that it has just begun comes too late
		}
		e := w.lost(id)
		if begun := e.Tries > 0; begun != (late < testLease) {
			t.Errorf("late by %v: %d tries", late, e.Tries)
		}
		if e.Cause != CauseLoopLate || e.Late < late-testLease/3 || e.Gap.Faults != 7 {
			t.Errorf("late by %v: %+v", late, e)
		}
		if text := e.String(); !strings.Contains(text, "the lease loop was late by") ||
			!strings.Contains(text, "7 page faults") {
			t.Error(text)
		}
	}
}

func TestCauseClockJump(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	w.idle[id] = true
	until := w.now + 2*testLease
	w.run("the pause", 3*testLease, func() bool { return w.now > until })
	w.nodes[id].Gap(Gap{Jumped: 2 * testLease})
	w.idle[id] = false
	w.step(id)
	if e := w.lost(id); e.Cause != CauseClockJump || e.At >= w.now-testLease {
		t.Errorf("%+v", e)
	}
}

// A loop that is a little late is not to blame when nobody answers; the line tells of both.
func TestALittleLateIsNotTheCause(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	w.cut[id] = true
	w.run("a renewal is due", testLease, func() bool { return w.now > w.nodes[id].tenures.renewAt })
	w.idle[id] = true
	until := w.now + testLease/8
	w.run("the pause", testLease, func() bool { return w.now > until })
	w.idle[id] = false
	e := w.lost(id)
	if e.Cause != CauseUnanswered || e.Late < testLease/16 {
		t.Errorf("%+v", e)
	}
	if text := e.String(); !strings.Contains(text, "did not answer") || !strings.Contains(text, "late by") {
		t.Error(text)
	}
}

// An answer that comes after the deadline begins another tenure in the same step: both changes are there, in order
// (M1).
func TestM1AGapHasItsCauseToo(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	e := w.nodes[id]
	deadline := e.tenures.deadline
	var late []lease.Message
	w.drop = func(m lease.Message) bool {
		if m.To == id && m.Kind == lease.KindAccepted {
			late = append(late, m)
			return true
		}
		return m.To == id && m.Kind != lease.KindPromise
	}
	w.run("the deadline is near", testLease, func() bool { return w.now == deadline-time.Millisecond })
	for _, m := range late {
		e.hear(deadline, m)
	}
	c := e.TakeTenureChanges()
	if len(c) != 2 || c[0].End == nil || c[1].Start == nil || c[0].End.Cause != CauseUnanswered ||
		c[0].End.At != deadline ||
		c[1].Start.How != EndingOwn || c[1].Start.Ownerless != 0 || c[1].Start.Tenure != c[0].End.Tenure+1 {
		t.Errorf("%+v", c)
	}
}

// The quarantine of the own acceptor ends while its node waits for a quorum, so a tick wins the lease. That tick begins
// no second attempt, and the later renewal is counted.
func TestATickThatWinsBeginsNoAttempt(t *testing.T) {
	tried := time.Hour // reading at which the first attempt begins; the first round finds it
	for round := range 2 {
		w := newElectors(t, 3)
		w.drop = func(m lease.Message) bool {
			return m.Kind == lease.KindPrepare && m.From != 1 || m.Kind == lease.KindAccept && m.To == 3
		}
		w.restart(1, tried+testLease/4)
		w.run("an attempt", time.Second, func() bool { return w.nodes[1].trying })
		if round == 0 {
			tried = w.now
			continue
		}
		w.cut[1] = true
		w.run("a win", time.Second, func() bool { return w.nodes[1].tenures.tenure != 0 })
		if w.nodes[1].trying {
			t.Error("the tick that won has begun another attempt")
		}
		if e := w.lost(1); e.Tries == 0 || e.Cause != CauseUnanswered {
			t.Errorf("%+v: %v", e, e)
		}
	}
}

// A node alone loses its lease by lateness only, and then follows itself.
func TestCauseAlone(t *testing.T) {
	w := newElectors(t, 1)
	id := w.owned()
	w.now += 2 * testLease
	w.step(id)
	c := w.nodes[id].TakeTenureChanges()
	if len(c) == 0 || c[0].End == nil || c[0].End.Cause != CauseLoopLate {
		t.Fatalf("%+v", c)
	}
	w.run("it again", testLease, func() bool { return w.owner() == id })
	if starts, _ := w.changes(id); len(starts) > 0 && (starts[0].How != EndingOwn || starts[0].Ownerless < testLease/2) {
		t.Errorf("%+v", starts)
	}
}

// P7: the winner knows that the guardian of the owner before has told of a crash.
func TestP7TheSuccessorKnowsOfTheCrash(t *testing.T) {
	w := newElectors(t, 3)
	dead := w.owned()
	noted := w.nodes[dead].AppendNoted(nil, w.now)
	w.cut[dead] = true
	for _, id := range w.order {
		if id != dead {
			w.nodes[id].hearCrash(w.now, incarnation(dead), noted)
		}
	}
	if s := w.won(dead); s.How != EndingCrashed || s.Before != dead || s.Ownerless > testLease/4 {
		t.Errorf("%+v", s)
	}
}

// A node whose acceptor never saw the owner before knows of it by what another acceptor reports.
func TestTheSuccessorThatHeardNothing(t *testing.T) {
	w := newElectors(t, 3)
	w.cut[3] = true
	id := w.owned()
	other := 3 - id
	w.cut[3] = false
	w.drop = func(m lease.Message) bool { return m.Kind == lease.KindRelease && m.To != id }
	w.idle[3] = false
	w.nodes[id].releases(w.now, 4*testLease, CauseHandedOver)
	w.deliver()
	w.nodes[other].give(w.now, Event{StandBack: 4 * testLease})
	s := w.won(id)
	if w.owner() != 3 || s.Before != id || s.How != EndingUnheard {
		t.Errorf("node %d: %+v", w.owner(), s)
	}
}

func TestChangesThatNobodyTakesAreBounded(t *testing.T) {
	w := newElectors(t, 1)
	w.owned()
	for range 50 {
		w.nodes[1].releases(w.now, 0, CauseHandedOver)
		w.run("it again", testLease, func() bool { return w.owner() == 1 })
	}
	c := w.nodes[1].TakeTenureChanges()
	if len(c) != maxTenureChanges || c[len(c)-1].Start == nil || c[len(c)-1].Start.Tenure != 51 {
		t.Errorf("%d changes, the last %+v", len(c), c[len(c)-1])
	}
}

// The text of an end names the nodes that did not take part, and what they said. Logs and status show it.
func TestTheTextOfAnEndNamesTheNodes(t *testing.T) {
	gap := Gap{Processor: 3 * time.Millisecond, Faults: 7}
	for _, c := range []struct {
		end  TenureEnd
		want string
	}{
		{TenureEnd{Cause: CauseRefused, Tries: 1, Refused: quorum.Of(2)}, "not renewed in time: node 2 refused"},
		{TenureEnd{Cause: CauseRefused, Tries: 1, Refused: quorum.Of(2, 3), Promised: ballot.New(7, incarnation(3))},
			"not renewed in time: nodes 2 and 3 refused, promised to node 3"},
		{TenureEnd{Cause: CauseRefused, Tries: 1, Refused: quorum.Of(2), Owner: incarnation(3), Unanswered: quorum.Of(3)},
			"not renewed in time: node 2 refused, with a live lease of node 3; node 3 did not answer"},
		{TenureEnd{Cause: CauseUnanswered, Tries: 2, Unanswered: quorum.Of(1, 3)},
			"not renewed in time: nodes 1 and 3 did not answer"},
		{TenureEnd{Cause: CauseLoopLate, Late: 30 * time.Millisecond, Gap: gap},
			"not renewed in time: the lease loop was late by 30 ms (meanwhile this process used 3 ms of processor time, " +
				"7 page faults waited for a disk); no renewal was begun"},
	} {
		if got := c.end.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A cause is a release exactly if the text says so. The server logs the end of a tenure as a warning if it is none.
func TestReleasesAreToldAsReleases(t *testing.T) {
	for _, c := range Causes() {
		text := TenureEnd{Cause: c}.String()
		if c.Released() != strings.HasPrefix(text, "released: ") {
			t.Errorf("%v: a release is %v, and the text %q", c, c.Released(), text)
		}
	}
}

// P7: the report of a guardian comes between two steps of the lease loop, and does not make the next one look late.
func TestP7AGuardiansWordIsNoLateness(t *testing.T) {
	w := newElectors(t, 3)
	id := w.owned()
	w.cut[id] = true
	w.run("a renewal is due", testLease, func() bool { return w.now > w.nodes[id].tenures.renewAt })
	for range 5 {
		w.nodes[id].hearCrash(w.now, incarnation(id%3+1), nil)
		w.step(id)
		w.now += time.Millisecond
	}
	if e := w.lost(id); e.Cause != CauseUnanswered || e.Late > testLease/16 {
		t.Errorf("%+v", e)
	}
}

// A lease that is let go of says why.
func TestTheCauseOfALetGo(t *testing.T) {
	want := map[string]Cause{ReasonNoVoter: CauseNoVoter, ReasonDiffers: CauseDiffers, ReasonClock: CauseClock}
	for _, reason := range LetGoReasons() {
		cause, special := want[reason]
		if !special {
			cause = CauseNoProgress
		}
		if got := (LetGo{Reason: reason}).cause(); got != cause || !got.Released() {
			t.Errorf("%s: %v, want %v", reason, got, cause)
		}
	}
}
