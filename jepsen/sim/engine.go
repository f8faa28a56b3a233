package sim

import (
	"fmt"
	"time"
)

// engine is what every part of a run shares: its plan, true time, the events in their order, the phase, the trace and
// the counts. It knows no part; a part schedules functions on it.
type engine struct {
	seed     uint64
	plan     plan
	now      time.Duration // true time
	phase    phase
	agenda   agenda
	serial   uint64   // of the newest event
	spare    []*event // events that have happened, to be used again
	steps    int
	aside    int    // of these, steps of named leases: they take nothing from the others
	requests uint64 // number of the newest request of any client
	trace    trace
	counts   Counts
}

// startTime is the true time at which a run begins: readings of clocks are never near zero.
const startTime = 10 * time.Second

// at schedules do after d. With a machine, do happens only in that machine's present run, and waits while it is paused.
func (g *engine) at(m *machine, k kind, d time.Duration, do func()) *event {
	e := g.newEvent()
	*e = event{at: g.now + d, machine: m, kind: k, do: do}
	if m != nil {
		e.run = m.run
	}
	g.push(e)
	return e
}

// newEvent returns memory for an event.
func (g *engine) newEvent() *event {
	if len(g.spare) == 0 {
		return new(event)
	}
	e := g.spare[len(g.spare)-1]
	g.spare = g.spare[:len(g.spare)-1]
	return e
}

func (g *engine) push(e *event) {
	g.serial++
	e.serial = g.serial
	g.agenda.push(e)
}

// step carries out the next event. Events of an ended run are dropped, those of a paused one are kept for later.
func (g *engine) step() {
	e := g.agenda.pop()
	g.now = e.at
	if m := e.machine; m != nil {
		if e.run != m.run || !m.running {
			g.spare = append(g.spare, e)
			return
		}
		if m.paused {
			m.held = append(m.held, e)
			return
		}
	}
	g.steps++
	if e.kind >= kindNamed {
		g.aside++
	}
	g.trace.begin(g.steps, e)
	e.do()
	g.trace.end()
	g.spare = append(g.spare, e)
}

// stream returns random generator number n of the run's seed.
func (g *engine) stream(n uint64) random { return stream(g.seed, n) }

// nextRequest returns a number that no request has had.
func (g *engine) nextRequest() uint64 {
	g.requests++
	return g.requests
}

// faulty reports whether faults of a class may happen now.
func (g *engine) faulty(f Fault) bool { return g.phase == phaseFaults && g.plan.on(f) }

// effect counts a fault that took effect.
func (g *engine) effect(f Fault) {
	for i := range g.counts.Faults {
		if f == 1<<i {
			g.counts.Faults[i]++
		}
	}
}

// fail ends the run: a check did not hold.
func (g *engine) fail(check, format string, args ...any) {
	panic(&Failure{Check: check, Detail: fmt.Sprintf(format, args...)})
}
