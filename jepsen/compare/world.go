package compare

import (
	"time"

	"tenure/internal/ballot"
)

// tally is what is counted in a run.
type tally struct {
	events   int
	messages int // between nodes; what a node says to itself is not counted
	rounds   int // begun: each a request to all voters
	attempts int // begun, renewals too
	won      int // leases, renewals not
	renewals int // attempts while owning
	renewed  int
	lost     int           // leases that ended although their owner lived and went for a renewal
	idle     time.Duration // in which nobody owned, since the first owner
	span     time.Duration // since the first owner
	gaps     []time.Duration
	struckAt time.Duration // -1: not yet
	atStrike struct{ messages, rounds int }
	failover time.Duration // from the strike to the next owner; -1: none came
	over     struct{ messages, rounds int }
	took     time.Duration                  // from the first owner's try to its win
	first    struct{ messages, rounds int } // when the first renewal began
	firstAt  time.Duration                  // when the first owned; -1: nobody ever did
	twoAt    time.Duration                  // when two owned at once; -1: never
}

// world is one run of one algorithm under one schedule.
type world struct {
	params   Params
	core     core
	schedule *schedule
	now      time.Duration
	serial   uint64
	agenda   agenda
	nodes    []*node
	tally    tally
	began    bool // somebody has owned
	idle     bool // nobody owns now
	idleFrom time.Duration
}

// play is a run.
func play(p Params, c core, s *schedule) tally {
	w := &world{params: p, core: c, schedule: s}
	w.tally.struckAt, w.tally.failover, w.tally.firstAt, w.tally.twoAt = -1, -1, -1, -1
	for i := range s.nodes {
		n := &node{w: w, i: i, id: ballot.NodeID(i + 1), elapsed: s.elapsed[i], wall: s.wall[i]}
		w.nodes = append(w.nodes, n)
		n.boot()
		if i < len(s.begin) {
			n.wants, n.tryAt = true, s.begin[i]
			w.wake(n, n.tryAt)
		}
	}
	for _, f := range s.faults {
		w.push(event{at: f.at, kind: kindFault, node: -1, fault: f})
	}
	for w.tally.twoAt < 0 && !(s.onlyFirst && w.began) {
		if at, ok := w.agenda.next(); !ok || at > s.until {
			break
		}
		e := w.agenda.pop()
		w.now = e.at
		w.tally.events++
		w.do(e)
		w.look(e)
	}
	if w.began {
		w.tally.span += s.until
		if w.idle {
			w.tally.idle += s.until - w.idleFrom
		}
	}
	return w.tally
}

func (w *world) push(e event) {
	w.serial++
	e.serial = w.serial
	w.agenda.push(e)
}

func (w *world) wake(n *node, at time.Duration) {
	w.push(event{at: max(at, w.now), kind: kindWake, node: n.i, runs: n.runs})
}

// post hands letters to the network; what a node says to itself arrives at once.
func (w *world) post(n *node, ls []letter) {
	for _, l := range ls {
		to := int(l.to) - 1
		e := event{at: w.now, kind: kindLetter, node: to, letter: l}
		if to == n.i {
			w.push(e)
			continue
		}
		w.tally.messages++
		delays, copies := w.schedule.weather.fate(l.from, l.to, w.now)
		for k := range copies {
			e.at = w.now + delays[k]
			w.push(e)
		}
	}
}

func (w *world) do(e event) {
	if e.node < 0 {
		w.strike(e.fault)
		return
	}
	n := w.nodes[e.node]
	switch e.kind {
	case kindBoot:
		if e.runs == n.runs {
			n.boot()
			n.retry()
		}
		return
	case kindResume, kindThaw:
		w.resume(n, e.kind == kindThaw)
		return
	}
	if !n.up || e.kind == kindWake && e.runs != n.runs {
		return
	}
	if n.still {
		n.held = append(n.held, e)
		return
	}
	if e.kind == kindWake {
		n.wakeUp()
		return
	}
	n.take(e.letter)
}

// look records who owns after an event. A node can become owner by an event of its own only.
func (w *world) look(e event) {
	if e.node < 0 {
		e.node = e.fault.node
	}
	w.nodes[e.node].claims = w.nodes[e.node].owns()
	owners := 0
	for _, n := range w.nodes {
		if n.claims && n.owns() {
			owners++
		}
	}
	if owners > 1 {
		w.tally.twoAt = w.now
	}
	if !w.began || (owners == 0) == w.idle {
		return
	}
	w.idle = owners == 0
	if w.idle {
		w.idleFrom = w.now
		return
	}
	w.tally.idle += w.now - w.idleFrom
	w.tally.gaps = append(w.tally.gaps, w.now-w.idleFrom)
}

// ownerBegan is told of each new owner.
func (w *world) ownerBegan() {
	t := &w.tally
	if !w.began {
		w.began, t.firstAt, t.span = true, w.now, -w.now
	}
	if t.struckAt >= 0 && t.failover < 0 {
		t.failover = w.now - t.struckAt
		t.over.messages, t.over.rounds = t.messages-t.atStrike.messages, t.rounds-t.atStrike.rounds
	}
}
