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
	"tenure/jepsen/bench/install"
	"tenure/jepsen/bench/million"
	"tenure/jepsen/bench/pinned"
	"tenure/jepsen/bench/soak"
	"tenure/jepsen/bench/takeover"
)

func benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure leases, scheduling settings, uploads and long runs on real " +
		"processes"}
	c.AddCommand(takeoverCommand(), millionCommand(), pinnedCommand(), soakCommand(), installCommand())
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

func installCommand() *cobra.Command {
	var cfg install.Config
	c := &cobra.Command{Use: "install",
		Short: "Measure for how long the upload of a snapshot holds up other requests"}
	c.Flags().IntVar(&cfg.Keys, "keys", 9900, "keys in the snapshot")
	c.Flags().IntVar(&cfg.ValueBytes, "value-bytes", 700, "bytes of each value")
	c.Flags().IntVar(&cfg.Trials, "trials", 10, "uploads")
	return measurement(c, &cfg.Setup, 3, func(ctx context.Context) (report, error) { return install.Run(ctx, cfg) })
}

func soakCommand() *cobra.Command {
	var cfg soak.Config
	c := &cobra.Command{Use: "soak",
		Short: "Put a cluster under full load for long, and see whether it stays as it was",
		Long: "Put a cluster under full load for long. It ends with an error if a node takes more of its disk than its\n" +
			"bound, if the 99.9th percentile of writes in the second half is more than 1.5 times that of the first,\n" +
			"and with --archive if that is ever more than 5 s behind, or if a restore from it is not byte for byte what\n" +
			"a reader saw at that revision."}
	f := c.Flags()
	f.SortFlags = false
	f.DurationVar(&cfg.Time, "time", time.Hour, "how long the load lasts")
	f.IntVar(&cfg.Clients, "clients", 64, "clients of the load, in a closed loop")
	f.IntVar(&cfg.Keys, "keys", 100_000, "keys that they overwrite at random")
	f.IntVar(&cfg.ValueSize, "value-size", 256, "size of the values in bytes")
	f.BoolVar(&cfg.Archive, "archive", true, "have the nodes archive to a directory, and restore from that afterwards")
	f.IntVar(&cfg.Restores, "restores", 10, "revisions to restore from the archive")
	f.StringVar(&cfg.Plot, "plot", "", "write a plot of the disk use to this SVG file")
	f.StringVar(&cfg.Results, "samples", "", "write what was seen of the disks to this file, a JSON object a line")
	return measurement(c, &cfg.Setup, 3, func(ctx context.Context) (report, error) { return soak.Run(ctx, cfg) })
}
