package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/cmd/kvctl/bench"
	"tenure/cmd/kvctl/sweep"
	"tenure/internal/buildinfo"
)

// benchSweep is the flags of bench sweep.
type benchSweep struct {
	app                *app
	out, kvnode        string
	data               string
	points             []int
	repeat             int
	duration, warmup   time.Duration
	basePort, peerPort int
}

func newBenchSweep(a *app) *cobra.Command {
	s := &benchSweep{app: a}
	cmd := &cobra.Command{
		Use:   "sweep SERIES...|all",
		Short: "Measure local clusters at one value after the other, and plot it",
		Long: "sweep starts clusters on this machine (kvnode dev), measures puts and gets in a closed loop at one value after the\n" +
			"other of SERIES, and writes DIR/SERIES.json with two plots beside it. SERIES is one or more of: " + strings.Join(sweep.Names(), ", ") + ".\n" +
			"What is not varied is 3 nodes, 64 clients, 10,000 keys, values of 256 bytes. With default flags each point takes\n" +
			"some 40 s, and a million keys some minutes to write.",
		Example:   "  kvctl bench sweep clients nodes\n  kvctl bench sweep keys --points 1000,10000 --repeat 1 --out /tmp/b",
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: append(sweep.Names(), "all"),
		RunE:      s.run,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.out, "out", "", "directory for the results and plots, made if missing (default: a new one, ./kvctl-bench-TIME)")
	f.IntSliceVar(&s.points, "points", nil, "values to measure at (default: those of the series)")
	f.IntVar(&s.repeat, "repeat", 3, "measurements of each point")
	f.DurationVar(&s.duration, "duration", 5*time.Second, "how long each measurement takes")
	f.DurationVar(&s.warmup, "warmup", time.Second, "how long it runs before that")
	f.StringVar(&s.kvnode, "kvnode", "", "the kvnode to run (default: the one beside kvctl, else in PATH)")
	f.StringVar(&s.data, "data", ".", "where the clusters' data is kept meanwhile; a disk, or syncs cost nothing")
	f.IntVar(&s.basePort, "base-port", 18500, "where node 1 listens for clients")
	f.IntVar(&s.peerPort, "peer-base-port", 18300, "where node 1 listens for its peers")
	return cmd
}

func (s *benchSweep) run(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == "all" {
		args = sweep.Names()
	}
	if len(s.points) > 0 && len(args) > 1 {
		return usage("--points: goes with one series, and %d are given", len(args))
	}
	if s.repeat < 1 || s.repeat > 100 {
		return usage("--repeat %d: must be 1 to 100", s.repeat)
	}
	var all []sweep.Series
	for _, name := range args {
		x, err := sweep.Find(name)
		if err == nil && len(s.points) > 0 {
			x, err = x.At(s.points)
		}
		if err != nil {
			return usageError{err}
		}
		if err := x.Check(s.usual()); err != nil {
			return usageError{err}
		}
		all = append(all, x)
	}
	kvnode, err := s.findKvnode()
	if err != nil {
		return err
	}
	if s.out == "" {
		s.out = newResults(time.Now())
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	for _, x := range all {
		if err := s.series(cmd.Context(), x, kvnode); err != nil {
			return err
		}
	}
	return nil
}

// newResults is a directory of its own for one sweep, so that none writes over what another has measured.
func newResults(now time.Time) string { return "kvctl-bench-" + now.Format("20060102-150405") }

func (s *benchSweep) usual() bench.Config {
	return bench.Config{Duration: s.duration, Warmup: s.warmup, Timeout: 30 * time.Second}
}

// series measures x. What was measured is on disk after each measurement.
func (s *benchSweep) series(ctx context.Context, x sweep.Series, kvnode string) error {
	name := filepath.Join(s.out, x.Name+".json")
	f := sweep.File{
		Series: x.Name, Command: s.command(x), Started: time.Now().UTC().Truncate(time.Second), Version: buildinfo.Read().Version,
		System: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
	plan := sweep.Plan{
		Series: x, Repeat: s.repeat, Usual: s.usual(),
		Start: func(ctx context.Context, nodes int) (sweep.Cluster, error) {
			return startBenchCluster(ctx, kvnode, s.data, nodes, s.basePort, s.peerPort)
		},
		Measure: func(ctx context.Context, c bench.Config) (bench.Result, error) {
			show := s.app.benchProgress(c)
			defer show.end()
			c.Watch = show.tell
			return bench.Run(ctx, c)
		},
		Each: func(r bench.Result) error {
			f.Results = append(f.Results, r)
			fmt.Fprintf(s.app.stderr, "%s: %s with %s, %s, %s of %s: %.0f/s, p50 %.2f ms, p99 %.2f ms, %s\n", x.Name, r.Op,
				plural(uint64(r.Nodes), "node"), plural(uint64(r.Clients), "client"), plural(uint64(r.Keys), "key"),
				shortBytes(int64(r.ValueSize)), r.OpsPerS, r.P50, r.P99, plural(r.Errors, "error"))
			return f.Write(name)
		},
	}
	if err := plan.Run(ctx); err != nil {
		return err
	}
	return s.app.plotFile(name)
}

// command is what makes the same measurements again.
func (s *benchSweep) command(x sweep.Series) string {
	c := fmt.Sprintf("kvctl bench sweep %s --repeat %d --duration %v --warmup %v", x.Name, s.repeat, s.duration, s.warmup)
	if len(s.points) > 0 {
		c += " --points " + strings.Trim(strings.ReplaceAll(fmt.Sprint(x.Points), " ", ","), "[]")
	}
	return c
}

func newBenchPlot(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "plot FILE.json...",
		Short: "Draw the plots of what bench sweep has measured again",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if err := a.plotFile(name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// plotFile draws one file's plots and says where they are.
func (a *app) plotFile(name string) error {
	pictures, err := sweep.Plot(name)
	if err != nil {
		return err
	}
	return a.print(struct {
		Results string   `json:"results"`
		Plots   []string `json:"plots"`
	}{name, pictures}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, strings.Join(append([]string{name}, pictures...), "\n"))
		return err
	})
}
