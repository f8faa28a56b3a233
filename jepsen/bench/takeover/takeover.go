// Package takeover measures how long a named lease has no owner: from the death of one until the next is granted it, on
// a cluster of real processes, with some contenders that wait for the name.
//
// The owner dies right after a renewal, the worst moment: no acceptor lets anybody else in before D_A has passed since
// it accepted that renewal. The nodes add the rest of the time. A client that waits for a busy name is woken when its
// node's own acceptor lets go of the name, in the nodes' order for it, and runs one attempt of two round trips. As a
// second kind of end, the owner releases the name.
//
//   - takeover.go: the configuration and the whole measurement
//   - trial.go: one owner, its contenders, and its end
//   - report.go: distributions, and how they are shown
package takeover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"tenure/jepsen/bench"
)

// Config says what to measure.
type Config struct {
	bench.Setup
	TTL        time.Duration // of each lease
	Contenders []int         // one row each
	Trials     int           // of each row
	Names      int           // measured at a time
	Seed       uint64
}

const (
	leastMost   = 500 * time.Millisecond // nodes want no less than the master's lease
	trialGrace  = 30 * time.Second       // for a trial, beyond what its leases take
	stopGrace   = 2 * time.Second
	mostWaiting = 5000 // contenders at a time
)

// Validate returns an error that tells what is out of range.
func (c Config) Validate() error {
	switch {
	case c.Nodes < 1 || c.Nodes > bench.MaxNodes || c.Trials < 1 || c.Names < 1 || len(c.Contenders) == 0:
		return fmt.Errorf("%d nodes, %d trials of %d names at a time: out of range", c.Nodes, c.Trials, c.Names)
	case c.TTL < 100*time.Millisecond || c.TTL > time.Minute:
		return fmt.Errorf("a lease of %v: 100ms to 1m", c.TTL)
	case slices.Min(c.Contenders) < 1 || slices.Max(c.Contenders)*c.Names > mostWaiting:
		return fmt.Errorf("%v contenders for each of %d names: 1 to %d in all", c.Contenders, c.Names, mostWaiting)
	}
	return nil
}

// Run measures. Its error is also for fewer trials than were asked for, and for two owners at a time.
func Run(ctx context.Context, c Config) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	if err := c.Build(ctx); err != nil {
		return r, err
	}
	nodes, err := c.Cluster(bench.TimingFlags(max(c.TTL, leastMost)))
	if err != nil {
		return r, err
	}
	if err := bench.Start(ctx, nodes); err != nil {
		return r, err
	}
	defer nodes.Stop(stopGrace)
	r = newReport(c)
	for _, end := range []string{Death, Release} {
		for _, contenders := range c.Contenders {
			if err := c.row(ctx, &r, nodes.Endpoints(), end, contenders); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// row measures one number of contenders.
func (c Config) row(ctx context.Context, r *Report, endpoints []string, end string, contenders int) error {
	var mu sync.Mutex
	var all []sample
	var failed error
	var wg sync.WaitGroup
	for lane := range min(c.Names, c.Trials) {
		wg.Go(func() {
			l := newLane(c, endpoints, end, contenders, lane)
			defer l.close()
			for i := lane; i < c.Trials && ctx.Err() == nil; i += c.Names {
				s, err := l.trial(ctx, i)
				mu.Lock()
				if all = append(all, s); err != nil {
					all, failed = all[:len(all)-1], errors.Join(failed, err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if failed == nil && len(all) < c.Trials {
		failed = fmt.Errorf("%d trials of %d were done", len(all), c.Trials)
	}
	if failed != nil {
		return fmt.Errorf("%d contenders, %s: %w", contenders, end, failed)
	}
	row := r.add(end, contenders, all)
	_, err := fmt.Fprintln(c.Out, row)
	return err
}

// random is a lane's own generator.
func (c Config) random(contenders, lane int) *rand.Rand {
	return rand.New(rand.NewPCG(c.Seed, uint64(contenders)<<32+uint64(lane)))
}
