package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/jepsen/sweep"
)

func sweepCommand() *cobra.Command {
	cfg := sweep.Config{Out: os.Stdout}
	var points []int
	c := &cobra.Command{Use: "sweep SERIES…|all", Args: cobra.MinimumNArgs(1),
		Short: "Measure clusters over a range of values, and draw charts",
		Long: "Start clusters on this machine, measure puts and gets with kvctl bench in a closed loop at each value " +
			"of\n" +
			"SERIES, and write DIR/SERIES.json with two charts beside it. SERIES is one or more of: " +
			strings.Join(sweep.Names(), ", ") + ".\n\n" +
			"Everything else stays at 3 nodes, 64 clients, 10,000 keys and values of 256 bytes. With default flags\n" +
			"each point takes some 40 s, and a million keys some minutes to write.",
		Example: "  go run ./jepsen sweep clients nodes\n  go run ./jepsen sweep keys --points 1000,10000 --repeat 1 " +
			"--out /tmp/b"}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&cfg.Results, "out", "",
		"directory for results and charts, created if missing (default: ./tenure-sweep-TIME)")
	f.IntSliceVar(&points, "points", nil, "values to measure at (default: those of the series)")
	f.IntVar(&cfg.Repeat, "repeat", 3, "number of measurements at each point")
	f.DurationVar(&cfg.Duration, "duration", 5*time.Second, "how long each measurement takes")
	f.DurationVar(&cfg.Warmup, "warmup", time.Second, "how long to run before measuring")
	f.StringVar(&cfg.Kvnode, "kvnode", "", "path of the kvnode to measure (default: built from this module)")
	data := f.String("data", ".",
		"directory for the clusters' data meanwhile; it must be on a disk, or syncs cost nothing")
	c.RunE = func(cmd *cobra.Command, names []string) (err error) {
		if cfg.Series, err = chooseSeries(names, points); err != nil {
			return err
		}
		if err := cfg.Validate(); err != nil {
			return err
		}
		if cfg.Results == "" { // one of its own, so that no sweep writes over another's results
			cfg.Results = "tenure-sweep-" + time.Now().Format("20060102-150405")
		}
		if *data, err = filepath.Abs(*data); err != nil {
			return err
		}
		if cfg.Dir, err = os.MkdirTemp(*data, "tenure-jepsen-"); err != nil {
			return err
		}
		if err := sweep.Run(cmd.Context(), cfg); err != nil {
			return fmt.Errorf("%w (programs and logs are kept in %s)", err, cfg.Dir)
		}
		return os.RemoveAll(cfg.Dir)
	}
	c.AddCommand(&cobra.Command{Use: "draw FILE.json…", Args: cobra.MinimumNArgs(1),
		Short: "Draw the charts of earlier measurements again",
		RunE: func(_ *cobra.Command, files []string) error {
			for _, name := range files {
				charts, err := sweep.Draw(name)
				if err != nil {
					return err
				}
				fmt.Println(strings.Join(append([]string{name}, charts...), "\n"))
			}
			return nil
		}})
	return c
}

// chooseSeries looks up the series by their names, with other points if some are given.
func chooseSeries(names []string, points []int) ([]sweep.Series, error) {
	if len(names) == 1 && names[0] == "all" {
		names = sweep.Names()
	}
	if len(points) > 0 && len(names) > 1 {
		return nil, fmt.Errorf("--points needs one series, and %d are given", len(names))
	}
	var all []sweep.Series
	for _, name := range names {
		s, err := sweep.Find(name)
		if err == nil && len(points) > 0 {
			s, err = s.At(points)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
