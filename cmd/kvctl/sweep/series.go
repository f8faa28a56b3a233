package sweep

import (
	"fmt"
	"slices"
	"strings"

	"tenure/cmd/kvctl/bench"
	"tenure/cmd/kvctl/plot"
)

// What stays the same while something else is varied.
const (
	// MaxNodes is the largest cluster.
	MaxNodes = 7

	usualNodes   = 3
	usualClients = 64
	usualKeys    = 10_000
	usualSize    = 256
	// sizeBudget is how many bytes all keys together hold while the size of values is varied.
	sizeBudget = 64 << 20
	leastKeys  = 64
)

// Series is something to vary.
type Series struct {
	Name   string
	What   string // as the x axis and titles call it
	Points []int
	Log    bool // as x axis
	Format func(float64) string
	Nodes  bool // it varies the cluster itself: each point has one of its own
	// set puts point v into a run's configuration.
	set func(c *bench.Config, v int)
	// of reads it from a result.
	of func(r bench.Result) int
}

// All are the series, in the order in which they run.
var All = []Series{
	{
		Name: "clients", What: "clients", Points: []int{1, 4, 16, 64, 256, 1024}, Log: true,
		set: func(c *bench.Config, v int) { c.Clients, c.Conns = v, v },
		of:  func(r bench.Result) int { return r.Clients },
	},
	{
		Name: "nodes", What: "nodes", Points: []int{1, 3, 5}, Nodes: true,
		set: func(*bench.Config, int) {}, // the cluster has them
		of:  func(r bench.Result) int { return r.Nodes },
	},
	{
		Name: "value-size", What: "value size", Points: []int{16, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}, Log: true, Format: plot.Bytes,
		set: func(c *bench.Config, v int) {
			c.ValueSize = v
			c.Keys = min(max(sizeBudget/v, leastKeys), usualKeys)
		},
		of: func(r bench.Result) int { return r.ValueSize },
	},
	{
		Name: "keys", What: "keys", Points: []int{10_000, 100_000, 1_000_000, 3_000_000}, Log: true,
		set: func(c *bench.Config, v int) { c.Keys = v },
		of:  func(r bench.Result) int { return r.Keys },
	},
}

// Names are those of All.
func Names() []string {
	var names []string
	for _, s := range All {
		names = append(names, s.Name)
	}
	return names
}

// Find looks a series up by its name.
func Find(name string) (Series, error) {
	for _, s := range All {
		if s.Name == name {
			return s, nil
		}
	}
	return Series{}, fmt.Errorf("there is no series %q; there are: %s", name, strings.Join(Names(), ", "))
}

// At is s with other points, rising.
func (s Series) At(points []int) (Series, error) {
	points = slices.Clone(points)
	slices.Sort(points)
	s.Points = slices.Compact(points)
	for _, p := range s.Points {
		if p < 1 {
			return s, fmt.Errorf("--points %d: must be 1 or more", p)
		}
	}
	return s, nil
}

// config is a run of op at point v.
func (s Series) config(usual bench.Config, op string, v int) bench.Config {
	c := usual
	c.Op, c.Mode, c.Prefix, c.Seed = op, bench.Default, "bench/", 1
	c.Clients, c.Conns, c.Keys, c.ValueSize = usualClients, usualClients, usualKeys, usualSize
	s.set(&c, v)
	return c
}

// Check says which point cannot be measured, or nil.
func (s Series) Check(usual bench.Config) error {
	for _, v := range s.Points {
		c := s.config(usual, bench.Put, v)
		c.Endpoints = []string{"http://127.0.0.1:1"}
		if err := c.Validate(); err != nil {
			return fmt.Errorf("at %d %s: %w", v, s.What, err)
		}
		if s.Nodes && v > MaxNodes {
			return fmt.Errorf("--points %d: a cluster has at most %d nodes", v, MaxNodes)
		}
	}
	return nil
}
