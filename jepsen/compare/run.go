package compare

import (
	"context"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options say how much is compared.
type Options struct {
	Params   Params
	Seeds    int // schedules of each kind
	Start    uint64
	Parallel int // runs at a time; 0: one for each processor. The result does not depend on it
}

// Result is a whole comparison.
type Result struct {
	Options    Options
	Costs      []Cost
	Contention []Contention
	Clocks     []ClockRow
	Events     int // of all runs
}

// Run compares the three algorithms. The result depends on the options only. The error is the context's.
func Run(ctx context.Context, o Options) (Result, error) {
	r := Result{Options: o}
	var err error
	if r.Costs, err = o.costs(ctx, &r.Events); err != nil {
		return r, err
	}
	if r.Contention, err = o.contention(ctx, &r.Events); err != nil {
		return r, err
	}
	r.Clocks, err = o.clocks(ctx, &r.Events)
	return r, err
}

// each plays one schedule a seed under an algorithm, and gives the tallies in the order of the seeds.
func (o Options) each(ctx context.Context, c core, events *int, schedule func(seed uint64) *schedule) ([]tally, error) {
	out := make([]tally, o.Seeds)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.Parallel)
	if o.Parallel == 0 {
		g.SetLimit(runtime.GOMAXPROCS(0))
	}
	for i := range out {
		g.Go(func() error {
			if ctx.Err() == nil {
				out[i] = play(o.Params, c, schedule(o.Start+uint64(i)))
			}
			return ctx.Err()
		})
	}
	err := g.Wait()
	for i := range out {
		*events += out[i].events
	}
	return out, err
}

// share returns a/b, or 0 if b is 0.
func share[T int | time.Duration](a, b T) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// quantile sorts the values and returns the one below which the share q of them lies; 0 if there are none.
func quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(q*float64(len(ds))))]
}
