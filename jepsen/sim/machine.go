package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica/effect"
)

// maxMachines bounds the machines of a run, those that come later among them.
const maxMachines = 16

// machine is the computer of a node: its clock, and whether a process runs on it. Everything that happens to the
// process is scheduled here, so that it is dropped when the process has ended, and waits while it is paused.
type machine struct {
	*engine
	i       int
	id      ballot.NodeID
	random  random // nonces of the process, and how the machine comes back
	clock   clock
	rate    int64  // of the clock where it does not drift, in parts per million
	run     uint64 // rises with each start and each end of a process
	running bool
	paused  bool
	held    []*event      // what happens to the process while it is paused
	out     bool          // the node stays out for good
	laggard time.Duration // true time until which one of the process' loops is not scheduled
}

// up reports whether a process runs.
func (m *machine) up() bool { return m.running }

// reading returns the machine's clock now.
func (m *machine) reading() time.Duration { return m.clock.at(m.now) }

// later schedules do in the process that runs now.
func (m *machine) later(k kind, d time.Duration, do func()) *event { return m.at(m, k, d, do) }

// reach schedules do at the machine after d, whatever process runs there by then, or none. A paused one lets it wait.
func (m *machine) reach(k kind, d time.Duration, do func()) {
	m.at(nil, k, d, func() {
		if m.paused {
			m.held = append(m.held, &event{machine: m, run: m.run, kind: k, do: do})
			return
		}
		do()
	})
}

// begin starts a run of the process.
func (m *machine) begin() {
	m.run++
	m.running = true
}

// halt ends the run of the process. What waited for it is lost.
func (m *machine) halt() {
	m.run++
	m.running, m.paused, m.held = false, false, nil
}

// goOn lets a paused process go on. Its loops, readers and connections race for what waits; only each connection keeps
// its order. Early reports whether the handlers of requests are first.
func (m *machine) goOn(loops *random) (early bool) {
	held := m.held
	m.paused, m.held = false, nil
	lane := loops.between(0, 200*time.Microsecond)
	early = loops.chance(300)
	for _, e := range held {
		switch {
		case e.lane:
			e.at = m.now + lane + time.Microsecond
			lane += time.Microsecond
		case early && e.kind == kindAsk:
			e.at = m.now
		default:
			e.at = m.now + loops.between(time.Microsecond, 400*time.Microsecond)
		}
		m.push(e)
	}
	if m.trace.on() {
		m.trace.note("node %d goes on, %d events waited", m.id, len(held))
	}
	return early
}

// drift draws a new rate for the clock, as often at the bounds as between them.
func (m *machine) drift() {
	most := m.plan.timing.DriftPPM
	if !m.plan.on(Drift) || most == 0 {
		return
	}
	m.clock.run(m.now, pick(&m.random, -most, most, int64(m.random.below(int(2*most)))-most))
}

// gap returns for how long the processor is lost before the effect next, 0 if it is not; and whether that is a long
// time, as only the class Lag allows.
func (m *machine) gap(r *random, next effect.Effect) (d time.Duration, long bool) {
	switch {
	case m.phase != phaseFaults || !r.chance(m.plan.gapsBefore(next)):
		return 0, false
	case m.plan.on(Lag) && r.chance(m.plan.longGaps):
		return r.skewed(time.Millisecond, 3*m.plan.lease), true
	}
	return r.skewed(5*time.Microsecond, 500*time.Microsecond), false
}

// lags counts a loop of the process that is not scheduled for d.
func (m *machine) lags(d time.Duration) {
	m.effect(Lag)
	m.laggard = max(m.laggard, m.now+d)
}
