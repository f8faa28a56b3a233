// Package run puts a cluster, a workload, a nemesis and a checker together. A run that tested nothing fails.
//
//	run.go       one run
//	bed.go       the cluster, network and disks of a run
//	watch.go     who was master when
//	result.go    the verdict and the minimums
//	matrix.go    many runs
//	summary.go   the table of many runs
//	agree.go     whether all replicas are equal at the end
//	files.go     the histories that a run leaves
//	page.go      the page that a run leaves, with one time axis
//	sabotage.go  a cluster that is made to lie, to show that the checkers notice
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
	"tenure/jepsen/nemesis"
	"tenure/jepsen/workload"
)

// Config says what to run.
type Config struct {
	Workload string // default register
	Nemesis  string // default kill
	Nodes    int
	Clients  int
	Time     time.Duration
	Seed     uint64
	Sabotage string   // "", or how the cluster is made to lie: lost-writes, stale-reads
	Loopback bool     // no namespaces, even as root
	Flags    []string // for every node, after those that the nemesis asks for
	// DefaultReads has clients read by the lease even where the trouble is beyond what such reads promise: to see it
	// found.
	DefaultReads bool
	Dir          string // binaries, data, logs, histories; kept if the run fails
	Out          io.Writer

	// Built before, or else in Dir.
	Binaries, TestClock cluster.Binaries
}

const (
	startTimeout = 20 * time.Second
	finalTimeout = 60 * time.Second
	opTimeout    = 2 * time.Second
	stopGrace    = 2 * time.Second
)

// Run does one run and returns its result. An error is the harness's own; what the run found is in the Result.
func Run(ctx context.Context, cfg Config) (Result, error) {
	w, err := workload.ByName(cfg.Workload)
	if err != nil {
		return Result{}, err
	}
	n, err := nemesis.ByName(cfg.Nemesis)
	if err != nil {
		return Result{}, err
	}
	if err := errors.Join(cfg.validate(n), fits(w, n), Missing(n)); err != nil {
		return Result{}, err
	}
	b, err := newBed(ctx, cfg, w, n)
	if err != nil {
		return Result{}, err
	}
	r, err := b.play(ctx, cfg, w, n)
	if closed := b.close(); err == nil {
		err = closed
	}
	return r, err
}

// fits returns an error for a run that can only fail: promises about time, where clocks err beyond every bound, and the
// Redis protocol where nodes ask for tokens, which it does not know.
func fits(w workload.Workload, n nemesis.Nemesis) error {
	if w.Timed && n.ConsistentOnly {
		return fmt.Errorf("%s rests on clock rates that err by no more than they may: under %s it promises nothing",
			w.Name, n.Name)
	}
	if w.Redis && n.ACL {
		return fmt.Errorf("%s speaks the Redis protocol, which knows no tokens: it does not go with %s", w.Name, n.Name)
	}
	return nil
}

func (c Config) validate(n nemesis.Nemesis) error {
	switch {
	case c.Nodes != 3 && c.Nodes != 5:
		return fmt.Errorf("%d nodes: a run has 3 or 5", c.Nodes)
	case c.Clients < 1:
		return fmt.Errorf("%d clients: a run needs at least 1", c.Clients)
	case c.Sabotage != "" && n.TLS:
		return fmt.Errorf("%s has TLS, and what makes a cluster lie cannot read it", n.Name)
	case c.Time < time.Second:
		return fmt.Errorf("a run of %v: at least 1s", c.Time)
	}
	return nil
}

// play runs the workload and the nemesis on the bed, and evaluates the run.
func (b *bed) play(ctx context.Context, cfg Config, w workload.Workload, n nemesis.Nemesis) (Result, error) {
	if err := within(ctx, startTimeout, b.Cluster.Start); err != nil {
		return Result{}, err
	}
	if w.Redis {
		if err := within(ctx, startTimeout, b.Cluster.WaitLevel); err != nil {
			return Result{}, err
		}
	}
	endpoints, s, err := sabotage(cfg.Sabotage, b.Cluster.Endpoints())
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	rec := history.NewRecorder()
	b.Log, b.History = nemesis.NewLog(rec.Now, cfg.Out), rec
	watched, stop := watch(rec, b.Cluster)
	load := workload.Config{Endpoints: endpoints, Clients: cfg.Clients, Timeout: opTimeout, Seed: cfg.Seed,
		ConsistentOnly: n.ConsistentOnly && !cfg.DefaultReads, TLS: b.Cluster.TLS(),
		TokenFile: b.Cluster.TokenFile(), Redis: b.Cluster.Redis()}
	if n.Spares > 0 && cfg.Sabotage == "" { // of the nodes that they were given none may be left
		load.Learn = cfg.Nodes
	}
	trouble := b.drive(ctx, cfg, w, n, load, rec)
	if trouble == nil {
		trouble = b.settle(ctx, load, rec)
	}
	stop()
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	found := &record{cfg: cfg, workload: w, nemesis: n, where: b.where, ops: rec.Ops(), faults: b.Log.Faults(),
		watched: watched, end: rec.Now(), trouble: trouble, sabotaged: s.count()}
	r := found.evaluate()
	return r, found.write(r)
}

// drive runs workload and nemesis side by side for cfg.Time. The error is a node's misbehaviour.
func (b *bed) drive(ctx context.Context, cfg Config, w workload.Workload, n nemesis.Nemesis, load workload.Config,
	rec *history.Recorder) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.Time)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.Drive(ctx, load, rec) }()
	err := n.Run(ctx, &b.Bed)
	if err != nil {
		cancel()
	}
	return errors.Join(err, <-done)
}

// settle ends a run: all nodes must recover, everything is read once more, and the replicas must be the same.
func (b *bed) settle(ctx context.Context, load workload.Config, rec *history.Recorder) error {
	if err := b.heal(); err != nil {
		return err
	}
	if err := b.recovered(ctx); err != nil {
		return fmt.Errorf("the cluster did not recover after the last fault: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, finalTimeout)
	defer cancel()
	if err := workload.Final(ctx, load, rec); err != nil {
		return err
	}
	return b.agree(ctx)
}

// Kill runs the register workload on loopback while nodes are killed and restarted at random.
func Kill(ctx context.Context, cfg Config) error {
	cfg.Workload, cfg.Nemesis, cfg.Loopback = "register", "kill", true
	r, err := Run(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintln(cfg.Out, r.Line())
	return r.Err()
}
