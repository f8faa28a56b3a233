package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tenure/jepsen/compare"
)

func compareCommand() *cobra.Command {
	o := compare.Options{Params: compare.DefaultParams}
	var asJSON bool
	c := &cobra.Command{
		Use: "compare", Args: cobra.NoArgs,
		Short: "Compare PaxosLease, Flease and the naive majority vote under the same schedules",
		Long: "Play the real cores of PaxosLease, Flease and the naive majority vote under the same simulated " +
			"schedules,\n" +
			"and print what each costs, how contenders block each other, and which clock faults lead to two owners.\n" +
			"docs/leases-compared.md discusses the results.",
	}
	f := c.Flags()
	f.IntVar(&o.Seeds, "seeds", 100, "number of schedules of each kind")
	f.Uint64Var(&o.Start, "start", 1, "the first seed")
	f.IntVar(&o.Parallel, "parallel", 0, "runs at a time (0: one for each processor); the result does not depend on it")
	f.BoolVar(&asJSON, "json", false, "print the figures as JSON; durations in nanoseconds")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Seeds < 1 {
			return fmt.Errorf("--seeds %d: must be at least 1", o.Seeds)
		}
		debug.SetGCPercent(400) // runs are small, and much of their cost is garbage
		r, err := compare.Run(cmd.Context(), o)
		if err != nil {
			return err
		}
		if asJSON {
			return r.JSON(os.Stdout)
		}
		r.Print(os.Stdout)
		return nil
	}
	return c
}
