package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/alerts"
)

func alertsCommand() *cobra.Command {
	cfg := alerts.Config{Out: os.Stdout}
	list := false
	c := &cobra.Command{Use: "alerts [CLUSTER…]",
		Short: "Try the alerts and the dashboard with a real Prometheus on clusters in health and under faults"}
	f := c.Flags()
	f.BoolVar(&list, "list", false, "list the clusters and their faults, and exit")
	f.DurationVar(&cfg.Health, "health", 2*time.Minute, "how long nothing may fire before the first fault, 1m or more")
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, names []string) error {
		if list {
			for _, b := range alerts.Beds() {
				fmt.Printf("%-14s %s\n", b.Name, b.Says)
			}
			return nil
		}
		if cfg.Health < time.Minute {
			return fmt.Errorf("--health %v: the dashboard has data after a minute", cfg.Health)
		}
		if _, err := exec.LookPath("prometheus"); err != nil {
			return fmt.Errorf("install Prometheus (Debian's package prometheus): %w", err)
		}
		cfg.Beds = names
		return inTempDir(func(dir string) error {
			cfg.Dir = dir
			fired, err := alerts.Run(cmd.Context(), cfg)
			alerts.Write(os.Stdout, fired)
			return err
		})
	}
	return c
}
