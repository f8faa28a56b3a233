package compare

import "time"

// schedule is what a run meets, drawn from its seed before it begins.
type schedule struct {
	seed    uint64
	nodes   int // contenders; nodes 1 to voters vote too
	until   time.Duration
	weather weather
	begin   []time.Duration // when each node first tries; one that is not here never does
	// renewals is how many renewals an owner goes for; negative: as many as there is time for. Nil: none.
	renewals func(node, wins int) int
	// onlyFirst ends the run with the first owner.
	onlyFirst bool
	elapsed   []clock
	wall      []clock
	faults    []fault
}

// faultKind tells what a fault does.
type faultKind uint8

const (
	faultCrash       faultKind = iota + 1 // the node loses all it knows, and is back after d
	faultSuspend                          // the node stands still for d, its clocks go on
	faultFreeze                           // the node and its clocks stand still for d
	faultStepWall                         // by d
	faultStepElapsed                      // by d
	faultWallRate                         // ppm from now on
	faultStrike                           // whoever owns is lost for good
	faultLeave                            // whoever owns gives up its lease on purpose, and wants it no more
)

// fault is one thing that goes wrong, at a node but for the last two kinds.
type fault struct {
	at   time.Duration
	kind faultKind
	node int
	d    time.Duration
	ppm  int64
}

// newSchedule has perfect clocks, but for readings: the elapsed ones have nothing to do with each other, and the wall
// clocks lie within ε.
func newSchedule(p Params, seed uint64, nodes int, until time.Duration) *schedule {
	s := &schedule{seed: seed, nodes: nodes, until: until,
		weather: weather{seed: seed, least: p.DelayLeast, most: p.DelayMost}}
	for i := range nodes {
		s.begin = append(s.begin, between(s.ask(askBegin, i, 0), 0, p.BackoffMost))
		s.elapsed = append(s.elapsed, clock{reading: time.Hour + between(s.ask(askOffset, i, 0), 0, 10*time.Hour)})
		s.wall = append(s.wall, clock{reading: wallBase + between(s.ask(askOffset, i, 1), 0, p.Skew)})
	}
	return s
}

// ask returns the hash that decides the n-th event of one kind at a node.
func (s *schedule) ask(about uint64, node, n int) uint64 {
	return stir(s.seed, about, uint64(node), uint64(n))
}
