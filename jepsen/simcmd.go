package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tenure/internal/progress"
	"tenure/jepsen/sim"
)

func simCommand() *cobra.Command {
	var cfg sim.Config
	var without string
	search := sim.Search{Parallel: 1}
	c := &cobra.Command{Use: "sim", Args: cobra.NoArgs,
		Short: "Run whole clusters of the real replica on a simulated network, disk and clock",
		Long: "Run whole clusters of the real replica on a simulated network, disk and clock. With --seed, play one " +
			"run\n" +
			"and print a line for each step. With --seeds, search many; a run that fails is shrunk and printed with\n" +
			"the command that shows it.",
	}
	f := c.Flags()
	f.Uint64Var(&cfg.Seed, "seed", 0, "play the run of this seed with a full trace")
	f.StringVar(&without, "without", "", "with --seed: leave out these classes of faults, separated by commas")
	f.IntVar(&cfg.Clients, "clients", 0, "with --seed: at most this many clients (0: as the seed draws)")
	f.IntVar(&cfg.Steps, "steps", 0, fmt.Sprintf("steps with faults of each run (0: %d)", sim.DefaultSteps))
	f.BoolVar(&cfg.Members, "members", false, "the members of the clusters change")
	f.IntVar(&search.Seeds, "seeds", 0, "search this many seeds")
	f.Uint64Var(&search.Start, "start", 1, "with --seeds: the first seed")
	f.IntVar(&search.Parallel, "parallel", 1, "with --seeds: runs at a time")
	c.MarkFlagsOneRequired("seed", "seeds")
	c.MarkFlagsMutuallyExclusive("seed", "seeds")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if cfg.Without, err = sim.ParseFaults(without); err != nil {
			return err
		}
		if err := cfg.Validate(); err != nil {
			return err
		}
		if search.Seeds > 0 {
			search.Steps, search.Members = cfg.Steps, cfg.Members
			return simSearch(cmd.Context(), search)
		}
		return simReplay(cmd.Context(), cfg)
	}
	return c
}

// errInterrupted is for a simulation that a signal has ended.
var errInterrupted = errors.New("interrupted")

// simReplay plays one seed and writes its trace.
func simReplay(ctx context.Context, cfg sim.Config) error {
	out := bufio.NewWriter(os.Stdout)
	cfg.Trace = out
	done := make(chan sim.Result, 1)
	go func() { done <- sim.Run(cfg) }()
	var r sim.Result
	select {
	case r = <-done:
	case <-ctx.Done(): // the run goes on, and so out is not flushed
		return errInterrupted
	}
	fmt.Fprintf(out, "%d nodes, faults %v: %d steps, %v, trace hash %016x\n", r.Nodes, r.Faults, r.Steps, r.Virtual,
		r.Hash)
	if err := out.Flush(); err != nil {
		return err
	}
	if r.Failure != nil {
		return r.Failure
	}
	return nil
}

// simSearch plays many seeds and shows how far it is.
func simSearch(ctx context.Context, s sim.Search) error {
	meter := progress.New(os.Stderr, "sim", int64(s.Seeds), "seeds")
	debug.SetGCPercent(400) // runs are small, and much of their cost is garbage
	s.Done = func(r sim.Result) {
		meter.Add(1)
		if r.Failure != nil { // the other runs go on to their ends, and so may the shrinking, for long
			fmt.Printf("seed %d: %v\nto see it: %s\n", r.Config.Seed, r.Failure, r.Command())
		}
	}
	r := s.Run(ctx)
	meter.End()
	fmt.Println(r.String())
	if r.Failed != nil {
		fmt.Printf("shrinking seed %d …\n", r.Failed.Config.Seed)
		small := sim.Shrink(ctx, *r.Failed)
		fmt.Printf("faults left: %v; %v\n", small.Faults, small.Failure)
		return fmt.Errorf("a check failed; to see it: %s", small.Command())
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return r.Worked()
}
