package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tenure/internal/progress"
	"tenure/jepsen/explore"
)

func exploreCommand() *cobra.Command {
	var config, table, script string
	var list, resume bool
	var lim explore.Limits
	c := &cobra.Command{
		Use: "explore --config NAME", Args: cobra.NoArgs,
		Short: "Visit every state of a small world of the real lease or log core",
		Long: "Visit every state of a small world of the real lease or log core, breadth first, and print the " +
			"shortest\n" +
			"way to a broken one, or how far the search got. NAME is \"base\" or features joined by \"+\" in any " +
			"order.",
	}
	f := c.Flags()
	f.StringVar(&config, "config", "base", "configuration, or \"table\" for all configurations of the table")
	f.IntVar(&lim.MaxStates, "max-states", 0, "stop after this many states (0: at 2³¹, the most that can be numbered)")
	f.IntVar(&lim.Workers, "workers", 0, "goroutines (0: one for each processor); the result does not depend on it")
	f.StringVar(&table, "table", "", "write the results into the table in this file, between its markers")
	f.StringVar(&script, "script", "", "write the trace of a violation to this file, for replay")
	f.BoolVar(&resume, "resume", false, "skip configurations that the table has already, unless they were interrupted")
	f.BoolVar(&list, "list", false, "list the features and configurations and exit")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if list {
			explore.List(os.Stdout)
			return nil
		}
		names := []string{config}
		if config == "table" {
			names = explore.TableNames()
		}
		if resume {
			var err error
			if names, err = explore.Missing(table, names); err != nil {
				return err
			}
		}
		return exploreAll(cmd.Context(), names, lim, table, script)
	}
	return c
}

func exploreAll(ctx context.Context, names []string, lim explore.Limits, table, script string) error {
	broken := 0
	for _, name := range names {
		meter := progress.New(os.Stderr, name, 0, "states")
		lim.Progress = func(states, depth int) { meter.Set(int64(states), fmt.Sprintf("depth %d", depth)) }
		r, err := explore.RunNamed(ctx, name, lim)
		meter.End()
		if err != nil {
			return err
		}
		r.Print(os.Stdout)
		if r.Violation != "" {
			broken++
			if script != "" {
				if err := os.WriteFile(script, []byte(r.Script()), 0o644); err != nil {
					return fmt.Errorf("write the trace: %w", err)
				}
			}
		}
		if table != "" {
			if err := explore.UpdateTable(filepath.Clean(table), r); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d of %d configurations have a violation", broken, len(names))
	}
	return nil
}
