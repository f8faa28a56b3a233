package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tenure/jepsen/million"
)

func millionCommand() *cobra.Command {
	cfg := million.Config{Out: os.Stdout}
	file := ""
	c := &cobra.Command{Use: "million", Args: cobra.NoArgs,
		Short: "Hold a million leases on real nodes, and see what they cost, and what it does to others when all end at one time"}
	f := c.Flags()
	f.IntVar(&cfg.Leases, "leases", 1_000_000, "leases held at a time")
	f.IntVar(&cfg.Nodes, "nodes", 3, "nodes")
	f.IntVar(&cfg.Clients, "clients", 32, "clients, each with one connection")
	f.StringVar(&file, "json", "", "file for the figures")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return inTempDir(func(dir string) error {
			cfg.Dir = dir
			r, err := million.Run(cmd.Context(), cfg)
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
