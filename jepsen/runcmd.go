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
	c := &cobra.Command{Use: "run", Args: cobra.NoArgs, Short: "One workload under one nemesis; leaves histories and a page with one time axis",
		Long: "One workload under one nemesis.\n\n" + catalogue()}
	f := c.Flags()
	f.StringVar(&cfg.Workload, "workload", "register", "what the clients do")
	f.StringVar(&cfg.Nemesis, "nemesis", "kill", "what is done to the cluster")
	f.StringVar(&cfg.Sabotage, "sabotage", "", "make the cluster lie once in 1,000 times, to see it found: lost-writes or stale-reads")
	f.StringArrayVar(&cfg.Flags, "node-flag", nil, "one more flag for every node, such as --clock-drift=0 to see what the bound is for")
	f.BoolVar(&cfg.DefaultReads, "default-reads", false, "read by the lease even under clock-wild, where that promises nothing: the run may fail")
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

func matrixCommand() *cobra.Command {
	m := run.Matrix{Out: os.Stdout}
	var workloads, nemeses, summary string
	c := &cobra.Command{Use: "matrix", Args: cobra.NoArgs, Short: "Every workload under every nemesis; goes on where it stopped",
		Long: "Every workload under every nemesis, on three nodes, and a choice on five.\n\n" + catalogue()}
	f := c.Flags()
	f.StringVar(&workloads, "workloads", "", "only these, with commas between them")
	f.StringVar(&nemeses, "nemeses", "", "only these, with commas between them")
	f.IntVar(&m.Nodes, "nodes", 3, "nodes, 3 or 5")
	f.BoolVar(&m.Five, "five", true, "run a choice on five nodes too")
	f.IntVar(&m.Clients, "clients", 20, "clients")
	f.DurationVar(&m.Time, "time", 20*time.Second, "how long, each")
	f.Uint64Var(&m.Seed, "seed", 1, "seed of all choices")
	f.StringVar(&m.Dir, "resume", "", "directory of an earlier matrix: runs only what is missing or did not hold (default: a new one)")
	f.StringVar(&summary, "summary", "", "file for the table of results")
	c.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		m.Workloads, m.Nemeses = list(workloads), list(nemeses)
		if m.Dir == "" {
			if m.Dir, err = os.MkdirTemp("", "tenure-matrix-"); err != nil {
				return err
			}
		}
		fmt.Printf("if this is cut short, go on with: %s --resume %s\n", matrixText(cmd, "resume"), m.Dir)
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

// matrixText is the command with the flags that were given, but for some.
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
			left = fmt.Sprintf(" (left out here: %v)", err)
		}
		fmt.Fprintf(&b, "  %-18s %s%s\n", n.Name, n.Says, left)
	}
	return b.String()
}
