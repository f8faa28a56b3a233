package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/takeover"
)

func takeoverCommand() *cobra.Command {
	cfg := takeover.Config{Out: os.Stdout}
	file := ""
	c := &cobra.Command{Use: "takeover", Args: cobra.NoArgs,
		Short: "How long after the death of a lease's owner the next one owns, as a distribution",
		Long: "How long after the death of a named lease's owner the next one owns, as a distribution beyond D_A, for some numbers of clients that\n" +
			"wait for the name; and the same after a release. The owner dies right after a renewal, the worst moment."}
	f := c.Flags()
	f.IntVar(&cfg.Nodes, "nodes", 3, "nodes")
	f.DurationVar(&cfg.TTL, "ttl", time.Second, "TTL of each lease")
	f.IntSliceVar(&cfg.Contenders, "contenders", []int{1, 10, 100}, "clients that wait for a name")
	f.IntVar(&cfg.Trials, "trials", 100, "trials of each number of contenders; fewer are an error")
	f.IntVar(&cfg.Names, "names", 4, "names measured at a time")
	f.Uint64Var(&cfg.Seed, "seed", 0, "seed of all choices (0: a new one)")
	f.StringVar(&file, "json", "", "file for the figures")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if cfg.Seed == 0 {
			cfg.Seed = rand.Uint64()
		}
		return inTempDir(func(dir string) error {
			cfg.Dir = dir
			r, err := takeover.Run(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			fmt.Println()
			if err := r.Table(os.Stdout); err != nil {
				return err
			}
			return writeJSON(file, r)
		})
	}
	return c
}

// writeJSON writes v to a file, if one is named.
func writeJSON(file string, v any) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
