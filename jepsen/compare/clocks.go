package compare

import (
	"context"
	"time"
)

// clockCase is one way in which clocks go wrong.
type clockCase struct {
	name string
	// within says for which algorithms this is inside what they ask of clocks.
	within map[string]bool
	spoil  func(p Params, s *schedule)
}

// ClockRow is a clock fault, and in how many runs each algorithm had two owners at once.
type ClockRow struct {
	Fault string
	Runs  int
	Cells []ClockCell
}

// ClockCell is one algorithm's.
type ClockCell struct {
	Core   string
	Two    int  // runs with two owners at once
	Within bool // the algorithm promises that there is none
	Leases int  // in all runs together: what was tested
}

const (
	clockNodes      = 5
	clockLeaseTimes = 12
)

// clocks plays each case with five contenders, under a network that loses, repeats and delays, and nodes that crash.
// Owners renew now and then, or not, and so leases end often.
func (o Options) clocks(ctx context.Context, events *int) ([]ClockRow, error) {
	var out []ClockRow
	for _, k := range clockCases {
		row := ClockRow{Fault: k.name, Runs: o.Seeds}
		for _, c := range cores(o.Params) {
			ts, err := o.each(ctx, c, events, func(seed uint64) *schedule { return k.schedule(o.Params, seed) })
			if err != nil {
				return out, err
			}
			cell := ClockCell{Core: c.name, Within: k.within[c.name]}
			for _, t := range ts {
				cell.Leases += t.won + t.renewed
				if t.twoAt >= 0 {
					cell.Two++
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		out = append(out, row)
	}
	return out, nil
}

func (k clockCase) schedule(p Params, seed uint64) *schedule {
	s := newSchedule(p, seed, clockNodes, clockLeaseTimes*p.Lease)
	s.renewals = func(node, wins int) int { return int(s.ask(askRenewals, node, wins) % 3) }
	s.weather.lossPPM, s.weather.repeatPPM = 50_000, 50_000
	s.weather.latePPM, s.weather.late = 20_000, p.Lease
	for i := range 3 { // one node at a time: a quorum is left
		at := time.Duration(i+1)*3*p.Lease + between(s.ask(askFault, i, 1), 0, p.Lease)
		s.faults = append(s.faults,
			fault{at: at, kind: faultCrash, node: int(s.ask(askFault, i, 2) % voters),
				d: between(s.ask(askFault, i, 3), 0, p.Lease/2)})
	}
	k.spoil(p, s)
	return s
}

// Which algorithms' promise covers a case.
var (
	allOfThem = map[string]bool{"PaxosLease": true, "Flease": true, "majority vote": true}
	elapsed   = map[string]bool{"PaxosLease": true, "majority vote": true}
	walls     = map[string]bool{"Flease": true}
)

var clockCases = []clockCase{
	{"rates within ρ, wall clocks corrected within ε", allOfThem, func(p Params, s *schedule) {
		s.rates(p.DriftPPM, p.DriftPPM)
		s.correct(p)
	}},
	{"wall clocks apart by 4 ε to a lease time", elapsed, func(p Params, s *schedule) {
		for i := range s.wall {
			s.wall[i].reading = wallBase + time.Duration(i%2)*between(s.ask(askOffset, i, 2), 4*p.Skew, p.Lease)
		}
	}},
	{"rates within ρ, wall clocks never corrected", elapsed, func(p Params, s *schedule) {
		s.rates(p.DriftPPM, p.DriftPPM)
		for i := range s.wall {
			s.wall[i].ppm = s.elapsed[i].ppm
		}
	}},
	{"rates off by 5 ρ to 30 ρ, wall clocks corrected within ε", walls, func(p Params, s *schedule) {
		s.rates(5*p.DriftPPM, 30*p.DriftPPM)
		s.correct(p)
	}},
	{"rates off by 5 ρ to 30 ρ, wall clocks never corrected", nil, func(p Params, s *schedule) {
		s.rates(5*p.DriftPPM, 30*p.DriftPPM)
		for i := range s.wall {
			s.wall[i].ppm = s.elapsed[i].ppm
		}
	}},
	{"a wall clock is set forwards", elapsed, func(p Params, s *schedule) { s.some(p, faultStepWall, 1) }},
	{"a wall clock is set back", elapsed, func(p Params, s *schedule) { s.some(p, faultStepWall, -1) }},
	{"a process stands still, clocks go on", allOfThem, func(p Params, s *schedule) { s.some(p, faultSuspend, 1) }},
	{"a machine and its clocks stand still", nil, func(p Params, s *schedule) { s.some(p, faultFreeze, 1) }},
	{"an elapsed clock jumps forwards", walls, func(p Params, s *schedule) { s.some(p, faultStepElapsed, 1) }},
	{"an elapsed clock jumps back", walls, func(p Params, s *schedule) { s.some(p, faultStepElapsed, -1) }},
}

// rates has the elapsed clocks err by least to most, some fast, some slow.
func (s *schedule) rates(least, most int64) {
	for i := range s.elapsed {
		h := s.ask(askRate, i, 0)
		ppm := least
		if most > least {
			ppm += int64(h>>8) & (1<<40 - 1) % (most - least)
		} else {
			ppm = int64(h>>8) & (1<<40 - 1) % least
		}
		if h&1 == 0 {
			ppm = -ppm
		}
		s.elapsed[i].ppm = ppm
	}
}

// correct has each wall clock wander within ε, at a rate that errs by ρ, up and down.
func (s *schedule) correct(p Params) {
	space := p.Skew / 10 * 9
	half := time.Duration(int64(space) * million / p.DriftPPM) // from one end to the other
	for i := range s.wall {
		at := between(s.ask(askOffset, i, 3), 0, 2*half) // where in its wave it begins
		ppm := p.DriftPPM
		s.wall[i].reading = wallBase + time.Duration(int64(at)*p.DriftPPM/million)
		next := half - at
		if at >= half {
			s.wall[i].reading = wallBase + space - time.Duration(int64(at-half)*p.DriftPPM/million)
			ppm, next = -ppm, 2*half-at
		}
		s.wall[i].ppm = ppm
		for ; next < s.until; next += half {
			ppm = -ppm
			s.faults = append(s.faults, fault{at: next, kind: faultWallRate, node: i, ppm: ppm})
		}
	}
}

// some makes four faults of a kind at voters and others, each by a third of a lease time to two, in one direction or
// the other.
func (s *schedule) some(p Params, k faultKind, sign time.Duration) {
	for i := range 4 {
		at := p.Lease/2 + between(s.ask(askFault, i, 4), 0, s.until-3*p.Lease)
		s.faults = append(s.faults, fault{
			at: at, kind: k, node: int(s.ask(askFault, i, 5) % clockNodes),
			d: sign * between(s.ask(askFault, i, 6), p.Lease/3, 2*p.Lease),
		})
	}
}
