package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/nemesis"
	"tenure/jepsen/run"
	"tenure/jepsen/workload"
)

func runCommand() *cobra.Command {
	cfg := run.Config{Out: os.Stdout}
	c := &cobra.Command{Use: "run", Args: cobra.NoArgs, Short: "One workload under one nemesis; leaves histories and a page with one time axis",
		Long: "One workload under one nemesis.\n\n" + catalogue()}
	f := c.Flags()
	f.StringVar(&cfg.Workload, "workload", "register", "what the clients do")
	f.StringVar(&cfg.Nemesis, "nemesis", "kill", "what is done to the cluster")
	f.StringVar(&cfg.Sabotage, "sabotage", "", "make the cluster lie once in 1,000 times, to see it found: lost-writes or stale-reads")
	f.BoolVar(&cfg.Loopback, "loopback", false, "no network namespaces, even as root")
	f.StringVar(&cfg.Dir, "out", "", "directory for what the run leaves (default: a new one)")
	shape(c, &cfg)
	c.RunE = func(cmd *cobra.Command, _ []string) error { return one(cmd.Context(), cfg) }
	return c
}

// shape are the flags of every kind of run.
func shape(c *cobra.Command, cfg *run.Config) {
	c.Flags().IntVar(&cfg.Nodes, "nodes", 3, "nodes, 3 or 5")
	c.Flags().IntVar(&cfg.Clients, "clients", 20, "clients")
	c.Flags().DurationVar(&cfg.Time, "time", 20*time.Second, "how long")
	c.Flags().Uint64Var(&cfg.Seed, "seed", 0, "seed of the clients' and the nemesis's choices (0: a new one)")
}

func one(ctx context.Context, cfg run.Config) error {
	var err error
	if cfg.Dir == "" {
		if cfg.Dir, err = os.MkdirTemp("", "tenure-jepsen-"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return err
	}
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	r, err := run.Run(ctx, cfg)
	if err != nil {
		return fmt.Errorf("%w (logs are in %s)", err, cfg.Dir)
	}
	fmt.Println(r.Line())
	fmt.Printf("%s\nhistories, page and, of a run that failed, data and logs: %s\n", r.Command, cfg.Dir)
	if r.Err() == nil {
		return run.Tidy(cfg.Dir)
	}
	return r.Err()
}

func catalogue() string {
	var b strings.Builder
	b.WriteString("Workloads:\n")
	for _, w := range workload.All() {
		fmt.Fprintf(&b, "  %-18s %s\n", w.Name, w.Says)
	}
	b.WriteString("Nemeses:\n")
	for _, n := range nemesis.All() {
		left := ""
		if err := run.Missing(n); err != nil {
			left = fmt.Sprintf(" (left out here: %v)", err)
		}
		fmt.Fprintf(&b, "  %-18s %s%s\n", n.Name, n.Says, left)
	}
	return b.String()
}
