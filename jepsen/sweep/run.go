package sweep

import (
	"context"
	"errors"
	"fmt"
)

// Cluster is a running cluster.
type Cluster struct {
	// Measure runs a load. Its answer is what kvctl bench printed.
	Measure func(context.Context, Load) ([]byte, error)
	Stop    func() error
}

// Plan is a series to be measured.
type Plan struct {
	Series Series
	Repeat int // measurements of each point, at least 1
	// Start starts a fresh cluster of so many nodes and waits until it is ready.
	Start func(ctx context.Context, nodes int) (Cluster, error)
	// Each gets every result, so that those of a series that breaks off are not lost. Its error ends the series.
	Each func([]byte) error
}

// Run measures every point: the keys are written, then put and get are measured, Repeat times.
func (p Plan) Run(ctx context.Context) error {
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
	for _, v := range points {
		for i := range p.Repeat {
			for j, op := range []string{put, get} {
				l := p.Series.load(op, v)
				l.Fill = i == 0 && j == 0
				r, err := c.Measure(ctx, l)
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
