package sweep

import (
	"context"
	"errors"
	"fmt"

	"tenure/cmd/kvctl/bench"
)

// Cluster is a running cluster.
type Cluster struct {
	Endpoints []string
	Stop      func() error
}

// Plan is a series to be measured.
type Plan struct {
	Series Series
	Repeat int          // measurements of each point, at least 1
	Usual  bench.Config // Duration, Warmup and Timeout
	// Start starts a fresh cluster of so many nodes and waits until it is ready.
	Start func(ctx context.Context, nodes int) (Cluster, error)
	// Measure is bench.Run.
	Measure func(context.Context, bench.Config) (bench.Result, error)
	// Each is told of every result, so that those of a broken-off series are not lost. Its error ends the series.
	Each func(bench.Result) error
}

// Run measures every point: the keys are written, then put and get are measured, Repeat times.
func (p Plan) Run(ctx context.Context) error {
	if p.Repeat < 1 {
		return fmt.Errorf("--repeat %d: must be 1 or more", p.Repeat)
	}
	if !p.Series.Nodes {
		return p.on(ctx, usualNodes, p.Series.Points)
	}
	for _, nodes := range p.Series.Points {
		if err := p.on(ctx, nodes, []int{nodes}); err != nil {
			return err
		}
	}
	return nil
}

// on measures points on one fresh cluster.
func (p Plan) on(ctx context.Context, nodes int, points []int) (err error) {
	c, err := p.Start(ctx, nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	filled := 0
	for _, v := range points {
		for i := range p.Repeat {
			for j, op := range []string{bench.Put, bench.Get} {
				run := p.Series.config(p.Usual, op, v)
				run.Endpoints = c.Endpoints
				if run.Fill = i == 0 && j == 0; run.Fill && p.Series.Name == "keys" {
					run.FillFrom, filled = filled, run.Keys // those below are there with the same size
				}
				r, err := p.Measure(ctx, run)
				if err == nil && r.Interrupted {
					err = bench.ErrEarly
				}
				if err != nil {
					return fmt.Errorf("%s at %d %s: %w", op, v, p.Series.What, err)
				}
				if err := p.Each(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
