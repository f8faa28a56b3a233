package explore

import (
	"context"
	"runtime"
	"time"
)

// Limits bound a search beside its configuration.
type Limits struct {
	MaxStates int // 0: 2³¹
	Workers   int // 0: one for each processor. The result does not depend on it
	// Progress, if not nil, is told now and then how many states there are and how deep they lie.
	Progress func(states, depth int)
}

// Result is what a search found.
type Result struct {
	Name      string
	States    int // distinct, by the symmetry if there is one
	Depth     int // actions from the start to the farthest state
	Peak      int // states in the largest level
	Elapsed   time.Duration
	Bound     string // what stopped the search; "" if it is complete within its configuration
	Violation string // what was found broken; "" if nothing
	Trace     []Step // the shortest way there
	Blocked   int    // majority vote: states in which nobody owns, and nobody can until a vote has run out
}

// Complete tells that every state within the configuration was visited and none is broken.
func (r Result) Complete() bool { return r.Bound == "" && r.Violation == "" }

// Run searches a configuration of the lease. The error is about the configuration.
func Run(ctx context.Context, c Config, lim Limits) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	l := newLeaseModel(c)
	r, out := runModel(ctx, l, lim)
	r.Name = c.Name
	if out.what != "" {
		r.Trace = retrace(l, &teller{l: l}, out)
		if r.Trace == nil && !c.Unreduced { // the core tells acceptors apart: search without the symmetry
			c.Unreduced = true
			return Run(ctx, c, lim)
		}
	}
	return r, nil
}

func runModel(ctx context.Context, m model, lim Limits) (Result, outcome) {
	s := &search{m: m, maxStates: lim.MaxStates, workers: lim.Workers}
	if s.maxStates == 0 {
		s.maxStates = maxIndex
	}
	if s.workers == 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	progress := lim.Progress
	if progress == nil {
		progress = func(int, int) {}
	}
	begin := time.Now()
	out := s.run(ctx, progress)
	return Result{
		States: out.states, Depth: out.depth, Peak: out.peak, Elapsed: time.Since(begin), Bound: out.bound, Violation: out.what,
	}, out
}
