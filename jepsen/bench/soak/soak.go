// Package soak puts a cluster of real processes under full load for long, and reports whether it stays as it was: the
// disk use of each node beside its bound, the latency of writes in the second half beside the first, and, with an
// archive, how far that lags, and whether what it restores is what a reader saw.
//
//   - soak.go: the configuration, and the whole measurement
//   - load.go: kvctl bench at full load, and few clients that do everything else
//   - sample.go: what is read of the nodes meanwhile
//   - bound.go: what a node may take of its disk
//   - seen.go: what a reader saw at some revisions, and what the archive restores for them
//   - report.go, plot.go: the figures
package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tenure/jepsen/bench"
	"tenure/jepsen/cluster"
)

// Config says what to do.
type Config struct {
	bench.Setup
	Time      time.Duration // of the full load, in two halves
	Clients   int           // of the full load
	Keys      int           // that the full load overwrites at random
	ValueSize int           // bytes
	Archive   bool          // the nodes archive to a directory
	Restores  int           // revisions that are restored from the archive afterwards
	Plot      string        // file for the plot of disk use; "": none
	Results   string        // file of samples as JSON lines; "": none
}

const (
	sampleEvery  = 2 * time.Second
	lookEvery    = 5 * time.Second // a reader lists everything that the few clients write
	stopGrace    = 10 * time.Second
	archiveGrace = 30 * time.Second // after the load, until the archive has everything

	// Often enough that an hour has several of each, and that none of the restores reads more than that.
	fullEvery, verifyEvery = 10 * time.Minute, 15 * time.Minute
)

// Validate returns an error that tells what is out of range.
func (c Config) Validate() error {
	switch {
	case c.Time < 10*time.Second || c.Clients < 1 || c.Clients > 1000 || c.Nodes < 1 || c.Nodes > bench.MaxNodes:
		return fmt.Errorf("%v of load by %d clients on %d nodes: 10s or more by 1 to 1000 on 1 to %d", c.Time, c.Clients,
			c.Nodes, bench.MaxNodes)
	case c.Keys < 1 || c.Keys > 10_000_000 || c.ValueSize < 0 || c.ValueSize > 512<<10:
		return fmt.Errorf("%d keys of %d bytes: 1 to 10000000 of at most %d", c.Keys, c.ValueSize, 512<<10)
	case c.Restores < 0 || c.Restores > 100:
		return fmt.Errorf("%d revisions to restore: at most 100", c.Restores)
	}
	return nil
}

// Run measures. Its error is also for what is not as it must be: see Report.Check.
func Run(ctx context.Context, c Config) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	if err := c.Build(ctx); err != nil {
		return r, err
	}
	kvctl, err := cluster.BuildKvctl(ctx, c.Bin())
	if err != nil {
		return r, err
	}
	var flags []string
	archive := filepath.Join(c.Dir, "archive")
	if c.Archive {
		if err := os.MkdirAll(archive, 0o755); err != nil { // a node makes none
			return r, err
		}
		flags = append(flags, "--archive", "file://"+archive, "--archive-full-every", fullEvery.String(),
			"--archive-verify-every", verifyEvery.String())
	}
	nodes, err := c.Cluster(flags)
	if err != nil {
		return r, err
	}
	if err := bench.Start(ctx, nodes); err != nil {
		return r, err
	}
	defer nodes.Stop(stopGrace)
	m := &measurement{cfg: c, nodes: nodes, kvctl: kvctl, archive: archive}
	return m.run(ctx)
}

// measurement is a cluster under load.
type measurement struct {
	cfg     Config
	nodes   *cluster.Cluster
	kvctl   string
	archive string // directory
}

func (m *measurement) say(format string, args ...any) { fmt.Fprintf(m.cfg.Out, format+"\n", args...) }

func (m *measurement) run(ctx context.Context) (r Report, err error) {
	r = Report{Head: bench.NewHead(), Clients: m.cfg.Clients, Keys: m.cfg.Keys, ValueSize: m.cfg.ValueSize,
		Took: m.cfg.Time, Archive: m.cfg.Archive}
	samples, err := m.startSampling(ctx)
	if err != nil {
		return r, err
	}
	beside, err := m.startFew(ctx)
	if err != nil {
		samples.end()
		return r, err
	}
	r.Halves, err = m.load(ctx)
	seen, fewErr := beside.end()
	if err == nil {
		err = fewErr
	}
	if err == nil && m.cfg.Archive {
		err = m.archived(ctx, samples)
	}
	r.Samples, r.Files = samples.end()
	if err != nil {
		return r, err
	}
	r.Looks = len(seen)
	if m.cfg.Archive {
		m.nodes.Stop(stopGrace) // the processors are for the restores
		if r.Restored, err = m.restoreAll(ctx, seen); err != nil {
			return r, err
		}
	}
	if err := m.write(r); err != nil {
		return r, err
	}
	return r, r.Check()
}
