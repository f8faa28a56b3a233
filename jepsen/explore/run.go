package explore

import (
	"context"
	"fmt"
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

// Complete reports whether every state within the configuration was visited and none is broken.
func (r Result) Complete() bool { return r.Bound == "" && r.Violation == "" }

// World is a bounded world that can be searched: a Config, LogConfig, NamedConfig, ChangeConfig or
// RivalConfig.
type World interface {
	// Validate returns an error that wraps ErrConfig if the world cannot be built.
	Validate() error
	label() string
	says() string // one line about it
	open() (model, narrator)
}

// worlds returns the configurations that have a name of their own, in the order of the table.
func worlds() (all []World) {
	for _, c := range logConfigs {
		all = append(all, c)
	}
	for _, c := range namedConfigs {
		all = append(all, c)
	}
	for _, c := range changeConfigs {
		all = append(all, c)
	}
	for _, c := range rivalConfigs {
		all = append(all, c)
	}
	return all
}

// Parse returns the configuration with this name: "base", features of the lease joined with "+" in any order, or one of
// the names that List shows.
func Parse(name string) (World, error) {
	for _, w := range worlds() {
		if w.label() == name {
			return w, nil
		}
	}
	return parseLease(name)
}

// refused returns the error about a configuration.
func refused(name, format string, args ...any) error {
	return fmt.Errorf("%w: configuration %q: %s", ErrConfig, name, fmt.Sprintf(format, args...))
}

// RunNamed searches the configuration with this name.
func RunNamed(ctx context.Context, name string, lim Limits) (Result, error) {
	w, err := Parse(name)
	if err != nil {
		return Result{}, err
	}
	return Run(ctx, w, lim)
}

// Run searches a world. The error is about its configuration.
func Run(ctx context.Context, w World, lim Limits) (Result, error) {
	if err := w.Validate(); err != nil {
		return Result{}, err
	}
	m, n := w.open()
	r := runWorld(ctx, w, m, n, lim)
	if r.Violation != "" && r.Trace == nil && len(m.base().perms) > 1 {
		// The core tells acceptors apart: search without the symmetry.
		m, n = w.open()
		m.base().perms = m.base().perms[:1]
		r = runWorld(ctx, w, m, n, lim)
	}
	return r, nil
}

func runWorld(ctx context.Context, w World, m model, n narrator, lim Limits) Result {
	r, out := runModel(ctx, m, lim)
	r.Name = w.label()
	if l, ok := m.(*rivalModel); ok {
		r.Blocked = len(l.blocked)
	}
	if out.what != "" {
		r.Trace = retrace(m, n, out)
	}
	return r
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
		States: out.states, Depth: out.depth, Peak: out.peak, Elapsed: time.Since(begin), Bound: out.bound,
		Violation: out.what,
	}, out
}
