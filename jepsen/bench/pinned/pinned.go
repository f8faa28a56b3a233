// Package pinned measures the effect of three of kvnode's settings: SCHED_BATCH, following its use of processors, and
// the slack of Go's monitor thread. Each is switched off in turn, with nodes that have processors of their own and with
// nodes that share theirs with the load.
//
//   - pinned.go: the configuration and the order of the runs
//   - trial.go: one cluster, its load, and what they used
//   - report.go: medians with ranges
package pinned

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/jepsen/bench"
	"tenure/jepsen/cluster"
)

// Config says what to measure.
type Config struct {
	bench.Setup
	Loads     []string // as "put:64": an operation of kvctl bench, and its clients
	Rounds    int
	Time      time.Duration // of each load
	NodeCores []int         // in the world "apart"; "shared" is these and LoadCores together, for both
	LoadCores []int
	Worlds    []string

	Kvctl string // the program; built in Dir if it is empty
}

// The worlds.
const (
	Apart  = "apart"  // nodes and load on processors of their own
	Shared = "shared" // both on all of these
)

// arm is one way to run the nodes.
type arm struct {
	name  string
	flags []string
}

var arms = []arm{
	{"all on", nil},
	{"no SCHED_BATCH", []string{"--batch-scheduling=false"}},
	{"no adapting", []string{"--adapt-processors=false"}},
	{"no slack", []string{"--monitor-slack=0s"}},
	{"all off", []string{"--batch-scheduling=false", "--adapt-processors=false", "--monitor-slack=0s"}},
}

// Validate returns an error that says what is out of range.
func (c Config) Validate() error {
	switch {
	case c.Nodes < 1 || c.Nodes > bench.MaxNodes || c.Rounds < 1 || c.Rounds > 1000 || c.Time < 100*time.Millisecond ||
		c.Time > time.Hour:
		return fmt.Errorf("%d nodes, %d rounds of %v: out of range", c.Nodes, c.Rounds, c.Time)
	case len(c.NodeCores) == 0 || len(c.LoadCores) == 0 || len(c.Loads) == 0 || len(c.Worlds) == 0:
		return fmt.Errorf("nodes and load need processors, and there must be a load and a world")
	}
	for _, core := range append(slices.Clone(c.NodeCores), c.LoadCores...) {
		if core < 0 || core >= runtime.NumCPU() {
			return fmt.Errorf("processor %d: this machine has 0 to %d", core, runtime.NumCPU()-1)
		}
	}
	for _, w := range c.Worlds {
		if w != Apart && w != Shared {
			return fmt.Errorf("world %q: must be %s or %s", w, Apart, Shared)
		}
	}
	for _, l := range c.Loads {
		if _, _, err := parseLoad(l); err != nil {
			return err
		}
	}
	return nil
}

func parseLoad(s string) (op string, clients int, err error) {
	op, n, ok := strings.Cut(s, ":")
	if clients, err = strconv.Atoi(n); !ok || err != nil || clients < 1 || clients > 10_000 || op != "put" &&
		op != "get" {
		return "", 0, fmt.Errorf("load %q: write it like put:64 or get:1", s)
	}
	return op, clients, nil
}

// Run measures every arm in every world, in turns: each round does all of them once, beginning with another arm.
func Run(ctx context.Context, c Config) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	if err := c.Build(ctx); err != nil {
		return r, err
	}
	if c.Kvctl == "" {
		if c.Kvctl, err = cluster.BuildKvctl(ctx, c.Bin()); err != nil {
			return r, err
		}
	}
	r = newReport(c)
	for round := range c.Rounds {
		for _, world := range c.Worlds {
			for i := range arms {
				a := arms[(i+round)%len(arms)]
				if err := c.trial(ctx, &r, round, world, a); err != nil {
					return r, fmt.Errorf("round %d, %s, %s: %w", round+1, world, a.name, err)
				}
			}
		}
		fmt.Fprintf(c.Out, "round %d of %d\n", round+1, c.Rounds)
	}
	return r, nil
}

// cores are the processors of the nodes and of the load in a world.
func (c Config) cores(world string) (nodes, load []int) {
	if world == Apart {
		return c.NodeCores, c.LoadCores
	}
	all := slices.Concat(c.NodeCores, c.LoadCores)
	slices.Sort(all)
	all = slices.Compact(all)
	return all, all
}
