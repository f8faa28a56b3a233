package sweep

import (
	"fmt"
	"slices"
	"strings"

	"tenure/jepsen/chart"
)

// What stays the same while something else is varied.
const (
	usualNodes   = 3
	usualClients = 64
	usualKeys    = 10_000
	usualSize    = 256
	// sizeBudget is how many bytes all keys together hold while the size of values is varied.
	sizeBudget = 64 << 20
	leastKeys  = 64
)

// The operations that are measured, by their names in kvctl bench.
const (
	put = "put"
	get = "get"
)

// Load is one run of kvctl bench.
type Load struct {
	Op        string
	Clients   int
	Keys      int
	ValueSize int  // bytes
	Fill      bool // write all keys first
}

// Series is a parameter to vary.
type Series struct {
	Name   string
	What   string // as the x axis and titles call it
	Points []int
	Most   int  // the largest point that can be measured
	Log    bool // as x axis
	Format func(float64) string
	Nodes  bool // it varies the cluster itself: each point has one of its own
	// set puts point v into a load.
	set func(l *Load, v int)
	// of reads it from a result.
	of func(r Result) int
}

// All are the series, in the order in which they run.
var All = []Series{
	{
		Name: "clients", What: "clients", Points: []int{1, 4, 16, 64, 256, 1024}, Most: 16_384, Log: true,
		Format: chart.Number,
		set:    func(l *Load, v int) { l.Clients = v },
		of:     func(r Result) int { return r.Clients },
	},
	{
		Name: "nodes", What: "nodes", Points: []int{1, 3, 5}, Most: 7, Nodes: true, Format: chart.Number,
		set: func(*Load, int) {}, // the cluster has them
		of:  func(r Result) int { return r.Nodes },
	},
	{
		Name: "value-size", What: "value size", Points: []int{16, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10},
		Most: 16 << 20, Log: true, Format: chart.Bytes,
		set: func(l *Load, v int) {
			l.ValueSize = v
			l.Keys = min(max(sizeBudget/v, leastKeys), usualKeys)
		},
		of: func(r Result) int { return r.ValueSize },
	},
	{
		Name: "keys", What: "keys", Points: []int{10_000, 100_000, 1_000_000, 3_000_000}, Most: 100_000_000, Log: true,
		Format: chart.Number,
		set:    func(l *Load, v int) { l.Keys = v },
		of:     func(r Result) int { return r.Keys },
	},
}

// Names returns the names of All.
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

// At returns s with other points, in rising order, or an error if one of them cannot be measured.
func (s Series) At(points []int) (Series, error) {
	points = slices.Clone(points)
	slices.Sort(points)
	s.Points = slices.Compact(points)
	for _, p := range s.Points {
		if p < 1 || p > s.Most {
			return s, fmt.Errorf("--points %d: %s: must be 1 to %d", p, s.What, s.Most)
		}
	}
	return s, nil
}

// load is a run of op at point v.
func (s Series) load(op string, v int) Load {
	l := Load{Op: op, Clients: usualClients, Keys: usualKeys, ValueSize: usualSize}
	s.set(&l, v)
	return l
}
