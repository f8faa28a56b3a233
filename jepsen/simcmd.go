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
		return simReplay(cfg)
	}
	return c
}

// simReplay plays one seed and writes its trace.
func simReplay(cfg sim.Config) error {
	out := bufio.NewWriter(os.Stdout)
	cfg.Trace = out
	r := sim.Run(cfg)
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
	s.Done = func(sim.Result) { meter.Add(1) }
	r := s.Run(ctx)
	meter.End()
	fmt.Println(r.String())
	if r.Failed != nil {
		fmt.Printf("seed %d: %v\nshrinking …\n", r.Failed.Config.Seed, r.Failed.Failure)
		small := sim.Shrink(*r.Failed)
		fmt.Printf("faults left: %v; %v\n", small.Faults, small.Failure)
		return fmt.Errorf("a check failed; to see it: %s", small.Command())
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return r.Worked()
}
