package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/pinned"
)

func pinnedCommand() *cobra.Command {
	cfg := pinned.Config{Out: os.Stdout}
	file := ""
	c := &cobra.Command{Use: "pinned", Args: cobra.NoArgs,
		Short: "What SCHED_BATCH, adapted processors and the monitor's slack are worth, with nodes on processors of their own and on shared ones",
		Long: "What SCHED_BATCH, adapted processors and the monitor's slack are worth. Each round starts a cluster with all three, without each\n" +
			"and without all, in turns, in two worlds: \"apart\" has the nodes on --node-cores and the load on --load-cores, \"shared\" has both on all\n" +
			"of them. A node that may use one processor has nothing to adapt. Run it on a machine that does nothing else. Linux."}
	f := c.Flags()
	f.IntVar(&cfg.Nodes, "nodes", 1, "nodes")
	f.StringSliceVar(&cfg.Loads, "loads", []string{"put:1", "put:64", "get:64"}, "operations and their clients")
	f.IntVar(&cfg.Rounds, "rounds", 5, "rounds")
	f.DurationVar(&cfg.Time, "time", 2*time.Second, "how long to measure each load")
	f.IntSliceVar(&cfg.NodeCores, "node-cores", []int{0}, "processors of the nodes")
	f.IntSliceVar(&cfg.LoadCores, "load-cores", []int{1}, "processors of the load")
	f.StringSliceVar(&cfg.Worlds, "worlds", []string{pinned.Apart, pinned.Shared}, "apart, shared or both")
	f.StringVar(&file, "json", "", "file for the figures")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return inTempDir(func(dir string) error {
			cfg.Dir = dir
			r, err := pinned.Run(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			fmt.Println()
			if err := r.Table(os.Stdout); err != nil {
				return err
			}
			return writeJSON(file, struct {
				pinned.Report
				Rows []pinned.Row `json:"rows"`
			}{r, r.Rows()})
		})
	}
	return c
}
