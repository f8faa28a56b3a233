package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/run"
)

func loadCommand() *cobra.Command {
	l := run.Load{Out: os.Stdout}
	c := &cobra.Command{Use: "load --endpoints HOST:PORT,…", Args: cobra.NoArgs,
		Short: "Drive a cluster that runs already until SIGTERM, and check what the clients saw",
		Long: "Drive a cluster that runs already until SIGINT or SIGTERM, and check what the clients saw: for those who\n" +
			"restart or upgrade its nodes meanwhile. Its keys begin with \"paced/load/\"; there must be none before."}
	f := c.Flags()
	f.StringSliceVar(&l.Endpoints, "endpoints", nil, "addresses of the nodes for clients")
	f.IntVar(&l.Clients, "clients", 8, "clients")
	f.DurationVar(&l.Every, "every", 20*time.Millisecond, "how often each client begins an operation")
	f.DurationVar(&l.LongestGap, "longest-gap", 0, "how long no write may be acknowledged (0: as long as it takes)")
	f.Uint64Var(&l.Seed, "seed", 0, "seed of the choices of the clients (0: a random one)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(l.Endpoints) == 0 {
			return errors.New("no cluster is named: give --endpoints")
		}
		if l.Seed == 0 {
			l.Seed = rand.Uint64()
		}
		return l.Run(cmd.Context())
	}
	return c
}
