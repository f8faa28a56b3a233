package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/bench"
	"tenure/jepsen/bench/million"
	"tenure/jepsen/bench/pinned"
	"tenure/jepsen/bench/takeover"
)

func benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure the cost of leases and of scheduling settings on real processes"}
	c.AddCommand(takeoverCommand(), millionCommand(), pinnedCommand())
	return c
}

// report is the result of a measurement.
type report interface{ Table(w io.Writer) error }

// measurement adds to c the flags of all measurements, and makes it run one and print its report.
func measurement(c *cobra.Command, s *bench.Setup, nodes int,
	run func(ctx context.Context) (report, error)) *cobra.Command {
	file := ""
	s.Out = os.Stdout
	c.Args = cobra.NoArgs
	c.Flags().IntVar(&s.Nodes, "nodes", nodes, "nodes")
	c.Flags().StringVar(&file, "json", "", "write the figures to this file")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return inTempDir(func(dir string) error {
			s.Dir = dir
			r, err := run(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Println()
			if err := r.Table(os.Stdout); err != nil || file == "" {
				return err
			}
			text, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				return err
			}
			return os.WriteFile(file, append(text, '\n'), 0o644)
		})
	}
	return c
}

func takeoverCommand() *cobra.Command {
	var cfg takeover.Config
	c := &cobra.Command{Use: "takeover",
		Short: "Measure how long a lease has no owner after its owner's death",
		Long: "Measure how long after the death of a lease's owner the next one owns the lease, beyond the time " +
			"that\n" +
			"the protocol must wait (D_A), as a distribution, for several numbers of clients that wait for the\n" +
			"name; and the same after a release. The owner dies right after a renewal, the worst moment."}
	f := c.Flags()
	f.DurationVar(&cfg.TTL, "ttl", time.Second, "TTL of each lease")
	f.IntSliceVar(&cfg.Contenders, "contenders", []int{1, 10, 100}, "numbers of clients that wait for a name")
	f.IntVar(&cfg.Trials, "trials", 100, "trials for each number of contenders; fewer are an error")
	f.IntVar(&cfg.Names, "names", 4, "names to measure at a time")
	f.Uint64Var(&cfg.Seed, "seed", 0, "seed of all choices (0: a random one)")
	return measurement(c, &cfg.Setup, 3, func(ctx context.Context) (report, error) {
		if cfg.Seed == 0 {
			cfg.Seed = rand.Uint64()
		}
		return takeover.Run(ctx, cfg)
	})
}

func millionCommand() *cobra.Command {
	var cfg million.Config
	c := &cobra.Command{Use: "million",
		Short: "Hold a million leases on a real cluster, and measure their cost and their common end"}
	c.Flags().IntVar(&cfg.Leases, "leases", 1_000_000, "leases to hold at a time")
	c.Flags().IntVar(&cfg.Clients, "clients", 32, "clients, each with one connection")
	return measurement(c, &cfg.Setup, 3, func(ctx context.Context) (report, error) { return million.Run(ctx, cfg) })
}

func pinnedCommand() *cobra.Command {
	var cfg pinned.Config
	c := &cobra.Command{Use: "pinned",
		Short: "Measure the effect of three scheduling settings of kvnode",
		Long: "Measure the effect of SCHED_BATCH, adapted processors and the monitor's slack. Each round starts a " +
			"cluster\n" +
			"with all three, without each, and without all, in turns, in two worlds: in \"apart\" the nodes have " +
			"the\n" +
			"--node-cores and the load has the --load-cores; in \"shared\" both use all of them. A node with a " +
			"single\n" +
			"processor has nothing to adapt. Run it on an otherwise idle Linux machine."}
	f := c.Flags()
	f.StringSliceVar(&cfg.Loads, "loads", []string{"put:1", "put:64", "get:64"}, "operations and their clients")
	f.IntVar(&cfg.Rounds, "rounds", 5, "rounds")
	f.DurationVar(&cfg.Time, "time", 2*time.Second, "how long to measure each load")
	f.IntSliceVar(&cfg.NodeCores, "node-cores", []int{0}, "processors of the nodes")
	f.IntSliceVar(&cfg.LoadCores, "load-cores", []int{1}, "processors of the load")
	f.StringSliceVar(&cfg.Worlds, "worlds", []string{pinned.Apart, pinned.Shared}, "apart, shared or both")
	return measurement(c, &cfg.Setup, 1, func(ctx context.Context) (report, error) { return pinned.Run(ctx, cfg) })
}
