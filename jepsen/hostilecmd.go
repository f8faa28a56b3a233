package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/hostile"
)

func hostileCommand() *cobra.Command {
	cfg := hostile.Config{Out: os.Stdout, Nodes: 3}
	list, results := false, ""
	c := &cobra.Command{Use: "hostile [FLOOD…]",
		Short: "Flood a cluster as strangers do, and measure what its other clients notice",
		Long: "Flood a cluster as strangers do, and measure what its other clients notice: each flood goes to\n" +
			"the cluster, and for as long to an idle program on the same machine. It ends with an error if the\n" +
			"load's p99 is more than twice what it is beside the idle program, the load sees what may not be, the\n" +
			"master changes more often, a node takes more memory than its bound, kvctl status does not answer in\n" +
			"time, or a flood had no effect. --short compares nothing with an idle program, for busy machines."}
	f := c.Flags()
	f.BoolVar(&list, "list", false, "list the floods and exit")
	f.BoolVar(&cfg.Short, "short", false, "some floods for two seconds each, and nothing compared with an idle program")
	f.DurationVar(&cfg.Time, "time", 10*time.Second, "how long to flood at a time")
	f.IntVar(&cfg.Rounds, "rounds", 2, "how often to flood the idle program and the cluster in each way")
	f.IntVar(&cfg.Clients, "clients", 8, "clients of the load")
	f.DurationVar(&cfg.Every, "every", 40*time.Millisecond, "how often each client begins an operation")
	f.DurationVar(&cfg.Arrival, "arrival", 2*time.Second, "how long headers and bodies may take to arrive at a node")
	f.DurationVar(&cfg.Lease, "lease-time", 500*time.Millisecond, "lease time of the nodes")
	f.Uint64Var(&cfg.Seed, "seed", 0, "seed of the load's choices (0: a random one)")
	f.StringVar(&results, "results", "", "write the tables to this file, too")
	c.AddCommand(sinkCommand())
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, names []string) error {
		if list {
			for _, f := range hostile.Floods() {
				fmt.Printf("%-14s %s\n", f.Name, f.Says)
			}
			return nil
		}
		cfg.Floods = names
		if cfg.Seed == 0 {
			cfg.Seed = rand.Uint64()
		}
		if cfg.Short {
			cfg.Rounds = 1
			shorten(cmd, &cfg)
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cfg.Sink = []string{self, "hostile", "sink"}
		fmt.Printf("seed %d\n", cfg.Seed)
		return inTempDir(func(dir string) error {
			cfg.Dir = dir
			r, err := hostile.Run(cmd.Context(), cfg)
			if r == nil {
				return err
			}
			fmt.Printf("%.0f s\n\n", r.Took.Seconds())
			told := r.Write(os.Stdout)
			if results != "" {
				told = errors.Join(told, writeHostile(results, &cfg, r))
			}
			return errors.Join(err, told, r.Err())
		})
	}
	return c
}

// shorten gives the short form what was not given.
func shorten(cmd *cobra.Command, cfg *hostile.Config) {
	if !cmd.Flags().Changed("time") {
		cfg.Time = 2 * time.Second
	}
	if !cmd.Flags().Changed("arrival") {
		cfg.Arrival = time.Second
	}
	if len(cfg.Floods) == 0 {
		cfg.Floods = hostile.Short
	}
	if !cmd.Flags().Changed("lease-time") {
		cfg.Lease = 3 * time.Second
	}
}

// sinkCommand is the idle program, which hostile starts.
func sinkCommand() *cobra.Command {
	return &cobra.Command{Use: "sink", Hidden: true, Args: cobra.NoArgs, Short: "Take connections and do nothing",
		RunE: func(*cobra.Command, []string) error { return hostile.ServeSink(os.Stdin, os.Stdout) }}
}

// hostileHead begins the page of results.
const hostileHead = `# Hostile clients

%s, %s, %s/%s, %d processors, in %.0f s.

While a flood comes from other addresses, each of %d clients at another address begins an operation every %v, through
all nodes, and the history of these clients is checked. The flood goes to an idle program on the same machine for %v and
to the cluster for as long, %d times in turns. p99 is that of the clients' operations.

`

// writeHostile writes the tables to a file.
func writeHostile(results string, cfg *hostile.Config, r *hostile.Report) error {
	f, err := os.Create(results)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, hostileHead, "`go run ./jepsen hostile`", r.Began.Format("2006-01-02 15:04 UTC"),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.Took.Seconds(), cfg.Clients, cfg.Every, cfg.Time, cfg.Rounds)
	return errors.Join(err, r.Write(f), f.Close())
}
