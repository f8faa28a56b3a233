package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/jepsen/nemesis"
	"tenure/jepsen/run"
	"tenure/jepsen/workload"
)

func runCommand() *cobra.Command {
	cfg := run.Config{Out: os.Stdout}
	c := &cobra.Command{Use: "run", Args: cobra.NoArgs,
		Short: "Run one workload under one nemesis; keep histories and a page with a time line",
		Long:  "Run one workload under one nemesis.\n\n" + catalogue()}
	f := c.Flags()
	f.StringVar(&cfg.Workload, "workload", "register", "what the clients do; one of the list above")
	f.StringVar(&cfg.Nemesis, "nemesis", "kill", "what is done to the cluster; one of the list above")
	f.StringVar(&cfg.Sabotage, "sabotage", "",
		"make the cluster lie once in 1,000 times, to see that it is found: lost-writes or stale-reads")
	f.StringArrayVar(&cfg.Flags, "node-flag", nil,
		"one more flag for every node, such as --clock-drift=0")
	f.BoolVar(&cfg.DefaultReads, "default-reads", false,
		"read by the lease even under clock-wild, where such reads promise nothing: the run may fail")
	f.BoolVar(&cfg.Loopback, "loopback", false, "use no network namespaces, even as root")
	f.StringVar(&cfg.Dir, "out", "", "directory for the run's files (default: a new one)")
	shape(c, &cfg)
	c.RunE = func(cmd *cobra.Command, _ []string) error { return runOne(cmd.Context(), cfg) }
	return c
}

// shape defines the flags of every kind of run.
func shape(c *cobra.Command, cfg *run.Config) {
	c.Flags().IntVar(&cfg.Nodes, "nodes", 3, "nodes, 3 or 5")
	c.Flags().IntVar(&cfg.Clients, "clients", 20, "clients")
	c.Flags().DurationVar(&cfg.Time, "time", 20*time.Second, "how long to run")
	c.Flags().Uint64Var(&cfg.Seed, "seed", 0, "seed of the choices of clients and nemesis (0: a random one)")
}

func runOne(ctx context.Context, cfg run.Config) error {
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

func matrixCommand() *cobra.Command {
	m := run.Matrix{Out: os.Stdout}
	var workloads, nemeses, summary string
	c := &cobra.Command{Use: "matrix", Args: cobra.NoArgs,
		Short: "Run every workload under every nemesis; can be resumed",
		Long:  "Run every workload under every nemesis on three nodes, and a selection on five.\n\n" + catalogue()}
	f := c.Flags()
	f.StringVar(&workloads, "workloads", "", "only these, separated by commas")
	f.StringVar(&nemeses, "nemeses", "", "only these, separated by commas")
	f.IntVar(&m.Nodes, "nodes", 3, "nodes, 3 or 5")
	f.BoolVar(&m.Five, "five", true, "also run a selection on five nodes")
	f.IntVar(&m.Clients, "clients", 20, "clients")
	f.DurationVar(&m.Time, "time", 20*time.Second, "how long each run takes")
	f.Uint64Var(&m.Seed, "seed", 1, "seed of all choices")
	f.StringVar(&m.Dir, "resume", "",
		"directory of an earlier matrix, of which only missing and failed runs are done (default: a new one)")
	f.StringVar(&summary, "summary", "", "write the table of results to this file")
	c.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		m.Workloads, m.Nemeses = list(workloads), list(nemeses)
		if m.Dir == "" {
			if m.Dir, err = os.MkdirTemp("", "tenure-matrix-"); err != nil {
				return err
			}
		}
		fmt.Printf("if this is interrupted, resume it with: %s --resume %s\n", matrixText(cmd, "resume"), m.Dir)
		results, left, err := m.Run(cmd.Context())
		if summary == "" || len(results) == 0 {
			return err
		}
		file, created := os.Create(summary)
		if created != nil {
			return errors.Join(err, created)
		}
		return errors.Join(err, run.Summary(file, results, left, matrixText(cmd, "resume", "summary")), file.Close())
	}
	return c
}

// matrixText returns the command with the flags that were given, without some.
func matrixText(cmd *cobra.Command, without ...string) string {
	text := "go run ./jepsen matrix"
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(without, f.Name) {
			text += " --" + f.Name + "=" + f.Value.String()
		}
	})
	return text
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
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
			left = fmt.Sprintf(" (not possible here: %v)", err)
		}
		fmt.Fprintf(&b, "  %-18s %s%s\n", n.Name, n.Says, left)
	}
	return b.String()
}
