// Command jepsen tests Tenure: real clusters under faults, simulated ones, the protocol's states, and broken rules.
// README.md beside it describes each kind of test.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/run"
	"tenure/jepsen/show"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "jepsen:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	c := &cobra.Command{Use: "jepsen",
		Short:        "Test clusters under faults, simulated and real, and check what their clients saw",
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}} // its scripts evaluate what is typed
	c.AddCommand(simCommand(), killCommand(), showCommand())
	c.AddCommand(mutantsCommand())
	c.AddCommand(oneLineCommand())
	c.AddCommand(exploreCommand(), compareCommand())
	c.AddCommand(runCommand(), loadCommand(), matrixCommand())
	c.AddCommand(damageCommand(), hostileCommand(), alertsCommand())
	c.AddCommand(benchCommand(), sweepCommand())
	return c
}

func killCommand() *cobra.Command {
	cfg := run.Config{Out: os.Stdout}
	c := &cobra.Command{Use: "kill", Args: cobra.NoArgs,
		Short: "Kill and restart random nodes of a real cluster under checked load"}
	c.Flags().IntVar(&cfg.Nodes, "nodes", 3, "nodes")
	c.Flags().IntVar(&cfg.Clients, "clients", 10, "clients")
	c.Flags().DurationVar(&cfg.Time, "time", 30*time.Second, "how long to run")
	c.Flags().Uint64Var(&cfg.Seed, "seed", 0, "seed of the choices of clients and nemesis (0: a random one)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if cfg.Seed == 0 {
			cfg.Seed = rand.Uint64()
		}
		return inTempDir(func(dir string) error {
			cfg.Dir = dir
			fmt.Printf("seed %d\n", cfg.Seed)
			return run.Kill(cmd.Context(), cfg)
		})
	}
	return c
}

func showCommand() *cobra.Command {
	list := false
	c := &cobra.Command{Use: "show [STORY…]",
		Short: "Play failures on real processes, one story for each; all stories if none is named"}
	c.Flags().BoolVar(&list, "list", false, "list the stories and exit")
	c.RunE = func(cmd *cobra.Command, names []string) error {
		if list {
			for _, s := range show.Stories() {
				fmt.Printf("%-11s %s\n", s.Name, s.Says)
			}
			return nil
		}
		return inTempDir(func(dir string) error { return show.Play(cmd.Context(), dir, os.Stdout, names) })
	}
	return c
}

// inTempDir runs f in a new directory, which is kept if f fails.
func inTempDir(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "tenure-jepsen-")
	if err != nil {
		return err
	}
	if err := f(dir); err != nil {
		return fmt.Errorf("%w (data, logs and pages are kept in %s)", err, dir)
	}
	return os.RemoveAll(dir)
}
