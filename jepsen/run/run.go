// Package run puts a cluster, a workload, a nemesis and a checker together, and refuses to call a run good that
// tested nothing.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/jepsen/check"
	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
	"tenure/jepsen/nemesis"
	"tenure/jepsen/workload"
)

// Config says what to run.
type Config struct {
	Nodes   int
	Clients int
	Time    time.Duration
	Seed    uint64
	Dir     string // binaries, data, logs; kept if the run fails
	Out     io.Writer
}

// Minimums of a run with the kill nemesis, per second of its time: below them it has tested nothing.
const (
	minOpsPerSecond    = 20.0
	minFaultsPerSecond = 0.15
	minMasterChanges   = 2
	startTimeout       = 20 * time.Second
	opTimeout          = 2 * time.Second
	checkTimeout       = 30 * time.Second // per key
)

// Kill runs the register workload while nodes are killed and restarted at random, and checks every key's history.
func Kill(ctx context.Context, cfg Config) error {
	bin, err := cluster.Build(ctx, filepath.Join(cfg.Dir, "bin"))
	if err != nil {
		return err
	}
	c, err := cluster.New(cluster.Config{Binaries: bin, Dir: filepath.Join(cfg.Dir, "run"), Nodes: cfg.Nodes})
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	if err := within(ctx, startTimeout, c.Start); err != nil {
		return err
	}
	rec := history.NewRecorder()
	report, err := drive(ctx, cfg, c, rec)
	for _, e := range report.Events {
		fmt.Fprintln(cfg.Out, e)
	}
	if err != nil {
		return err
	}
	if err := within(ctx, startTimeout, func(ctx context.Context) error { return c.WaitReady(ctx, c.Nodes()...) }); err != nil {
		return fmt.Errorf("the cluster did not recover after the last fault: %w", err)
	}
	return judge(cfg, rec.Ops(), report)
}

// drive runs workload and nemesis side by side for cfg.Time.
func drive(ctx context.Context, cfg Config, c *cluster.Cluster, rec *history.Recorder) (nemesis.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.Time)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- workload.Registers(ctx, workload.Config{Endpoints: c.Endpoints(), Clients: cfg.Clients, Timeout: opTimeout, Seed: cfg.Seed}, rec)
	}()
	report, err := nemesis.Kill(ctx, c, rand.New(rand.NewPCG(cfg.Seed, 0)))
	return report, errors.Join(err, <-done)
}

// judge checks the history and the minimums, and prints a summary.
func judge(cfg Config, ops []history.Op, report nemesis.Report) error {
	counts := map[history.Outcome]int{}
	for _, op := range ops {
		counts[op.Outcome]++
	}
	verdicts := check.Registers(ops, checkTimeout)
	bad := 0
	for _, v := range verdicts {
		if v.Result == porcupine.Ok {
			continue
		}
		bad++
		page := filepath.Join(cfg.Dir, fmt.Sprintf("violation-%d.html", bad))
		if f, err := os.Create(page); err == nil {
			_ = porcupine.Visualize(check.Model, v.Info, f)
			f.Close()
		}
		fmt.Fprintf(cfg.Out, "key %s (%d operations): %v, see %s\n", v.Key, v.Ops, v.Result, page)
	}
	fmt.Fprintf(cfg.Out, "operations: %d ok, %d failed, %d unknown; %d keys checked; %d nodes killed, %d changes of master\n",
		counts[history.OK], counts[history.Fail], counts[history.Info], len(verdicts), report.Faults, report.Masters)
	seconds := cfg.Time.Seconds()
	switch {
	case bad > 0:
		return fmt.Errorf("%d of %d keys are not linearizable or could not be decided", bad, len(verdicts))
	case float64(counts[history.OK]) < minOpsPerSecond*seconds:
		return fmt.Errorf("only %d operations succeeded in %v: the run tested nothing", counts[history.OK], cfg.Time)
	case float64(report.Faults) < minFaultsPerSecond*seconds || report.Masters < minMasterChanges:
		return fmt.Errorf("only %d faults and %d changes of master in %v: the run tested nothing", report.Faults, report.Masters, cfg.Time)
	}
	return nil
}

func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}
